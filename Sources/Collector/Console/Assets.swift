import Foundation
import Gzip
import JSON
import Mustache

/// The files that the console needs on disk: templates, and files that browsers load.
package struct Assets: Sendable {
    package enum Fault: Error, CustomStringConvertible {
        case missing(String)
        case unreadable(String, any Error)

        package var description: String {
            switch self {
            case .missing(let path):
                "\(path) is missing. Install the console's assets there (share/ws1collector of a release, or "
                    + "`Tools/assets DIR` in a checkout), or name their directory with --assets."
            case .unreadable(let path, let error): "\(path) cannot be used: \(error)"
            }
        }
    }

    /// A file that browsers load.
    package struct File: Sendable {
        package var contentType: String
        package var bytes: Data
        /// The content, compressed with gzip.
        package var compressed: Data
    }

    /// The files by name.
    package let files: [String: File]
    let templates: MustacheLibrary

    private static let contentTypes = [
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        "json": "application/json", "txt": "text/plain; charset=utf-8",
    ]

    /// Reads everything into memory, about one megabyte.
    /// - Throws: `Fault`.
    package init(directory: String) throws(Fault) {
        var files: [String: File] = [:]
        for (name, path) in try Self.list("\(directory)/static") {
            guard let type = Self.contentTypes[(name as NSString).pathExtension] else { continue }
            let bytes = try Self.read(path)
            do throws(GzipError) {
                files[name] = File(contentType: type, bytes: bytes, compressed: try GzipCodec.compress(bytes, level: 9))
            } catch { throw .unreadable(path, error) }
        }
        self.files = files
        var library = MustacheLibrary()
        for (name, path) in try Self.list("\(directory)/templates") where name.hasSuffix(".mustache") {
            do {
                try library.register(
                    String(decoding: Self.read(path), as: UTF8.self), named: String(name.dropLast(".mustache".count)))
            } catch let fault as Fault { throw fault } catch { throw .unreadable(path, error) }
        }
        templates = library
        let parts = try Self.parts(of: "\(directory)/templates")
        for name in Self.pages + parts where library.getTemplate(named: name) == nil {
            throw .missing("\(directory)/templates/\(name).mustache")
        }
    }

    /// The templates that pages name. Without one of them the page would be empty.
    static let pages = [
        "about", "add-device", "analytics", "analytics-event", "assignments", "audit", "balance", "certificates",
        "device", "device-action", "device-balance", "device-commands", "device-delete", "device-manage",
        "device-system", "device-timeline", "device-token", "devices", "explore", "home", "job", "jobs",
        "log-context", "log-lines", "log-quotas", "log-request-job", "log-requests", "logs", "notices",
        "organization", "organizations", "problem", "problem-signed-out", "profile", "profile-conflict",
        "profile-edit", "profile-review", "profiles", "question", "runbook", "sign-in", "storage", "token-made",
        "token-otlp",
        "tokens",
    ]

    /// The templates that other templates name, in order of their names.
    private static func parts(of directory: String) throws(Fault) -> [String] {
        var parts: Set<String> = []
        for (name, path) in try list(directory) where name.hasSuffix(".mustache") {
            let text = String(decoding: try read(path), as: UTF8.self)
            for match in text.matches(of: #/\{\{[<>]\s*([a-z-]+)\s*\}\}/#) { parts.insert(String(match.output.1)) }
        }
        return parts.sorted()
    }

    private static func list(_ directory: String) throws(Fault) -> [(name: String, path: String)] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory).sorted().map {
                ($0, "\(directory)/\($0)")
            }
        } catch { throw .missing(directory) }
    }

    private static func read(_ path: String) throws(Fault) -> Data {
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch { throw .unreadable(path, error) }
    }
}
