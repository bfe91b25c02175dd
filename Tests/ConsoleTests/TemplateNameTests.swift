import Foundation
import TestKit
import Testing

@testable import Console

/// A page shows nothing where its template misspells a name. So each name must be a word of the console's sources, a
/// member of a view, or a field of a message.
@Suite struct TemplateNameTests {
    @Test func `Every name in a template is in the values of a page`() {
        #expect(Self.unknownNames(ConsoleHarness.assets) == [])
    }

    @Test(arguments: [
        ("logs", "{{shortDigest}}", "shortDigset"), ("log-line", "{{#.ring}}", "rign"),
        ("option", "{{label}}", "lable"),
        ("question", "{{#facts}}", "facst"), ("devices", "{{count(total)}}", "totla"),
    ]) func `A misspelt name is found`(template: String, tag: String, misspelt: String) throws {
        let copy = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: ConsoleHarness.assets, toPath: copy.file("assets"))
        let path = copy.file("assets/templates/\(template).mustache")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try #require(text.contains(tag))
        try text.replacing(tag, with: "{{\(misspelt)}}").write(toFile: path, atomically: true, encoding: .utf8)
        #expect(Self.unknownNames(copy.file("assets")) == ["\(template): \(misspelt)"])
    }

    private static func unknownNames(_ assets: String) -> [String] {
        files("\(assets)/templates", ".mustache").flatMap { name, text in
            names(in: text).subtracting(known).sorted().map { "\(name): \($0)" }
        }
    }

    private static let known: Set<String> = {
        let collector = "\(ConsoleHarness.assets)/../.."
        let words = (files("\(collector)/Console", ".swift") + files("\(collector)/Collector/Devices", ".swift"))
            .flatMap {
                matches(of: #/(?:"|case )([a-zA-Z][a-zA-Z0-9-]*)/#, in: $0.text)
            }
        let members = files("\(collector)/CollectorAPI", ".swift").flatMap {
            matches(of: #/var ([a-zA-Z0-9]+)/#, in: $0.text)
        }
        let fields = files("\(collector)/../../Schemas/wire/v1", "telemetry.proto").flatMap {
            matches(of: #/([a-z][a-z0-9_]*) = [0-9]+[; ]/#, in: $0.text).map { field in
                field.replacing(#/_(.)/#) { $0.output.1.uppercased() }
            }
        }
        return Set(words + members + fields)
    }()

    /// The names that a template looks up. A word before a parenthesis is a transform.
    private static func names(in template: String) -> Set<String> {
        template.matches(of: #/\{\{([^}]+)\}\}/#).map(\.output.1).reduce(into: []) { names, tag in
            guard let first = tag.first, !"><$/!".contains(first) else { return }
            names.formUnion(tag.matches(of: #/[a-zA-Z][a-zA-Z0-9-]*(?![a-zA-Z0-9(-])/#).map { String($0.output) })
        }
    }

    private static func matches(of pattern: Regex<(Substring, Substring)>, in text: String) -> [String] {
        text.matches(of: pattern).map { String($0.output.1) }
    }

    private static func files(_ directory: String, _ suffix: String) -> [(name: String, text: String)] {
        let paths = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return paths.filter { $0.hasSuffix(suffix) }.sorted().map { path in
            let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
            return (name, (try? String(contentsOfFile: "\(directory)/\(path)", encoding: .utf8)) ?? "")
        }
    }
}
