import ArgumentParser
import CommandKit
import Foundation
import Testing

@testable import CtlCommands

@Suite struct ContextFileTests {
    private static func context(_ collector: String) -> Context {
        var context = Context()
        context.collector = collector
        return context
    }

    @Test func `A file of contexts is read as it was written, whatever names are in it`() throws {
        var file = ContextFile()
        var context = Self.context("https://a.example")
        context.tokenFile = "/home/é \"x\": #/token"
        context.allowsPlaintext = true
        context.organization = "yes"
        file.contexts = ["null": context, "b": Self.context("http://127.0.0.1:1"), "empty": Context()]
        file.current = "null"
        #expect(try ContextFile(text: try file.text(), path: "f") == file)
        #expect(try ContextFile(text: try ContextFile().text(), path: "f") == ContextFile())
        #expect(try ContextFile(text: "", path: "f") == ContextFile())
    }

    @Test func `All mistakes of a file are told with their lines`() throws {
        let text = "currant: a\ncontexts:\n  a:\n    colector: x\n    allow-plaintext: maybe\n"
        let error = #expect(throws: CommandError.self) { try ContextFile(text: text, path: "f") }
        let message = error?.message ?? ""
        #expect(error?.code == .usage)
        for part in ["`currant`", "in line 1", "`colector`", "line 4", "`allow-plaintext`", "line 5"] {
            #expect(message.contains(part), "\(part): \(message)")
        }
    }

    @Test func `The file is for its owner alone, and one that others can write is refused`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ctl-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/deep/ws1ctl/contexts.yaml"
        var file = ContextFile()
        file.contexts = ["a": Self.context("https://a.example")]
        try file.write(to: path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        #expect(try ContextFile(at: path) == file)
        try FileManager.default.setAttributes([.posixPermissions: 0o620], ofItemAtPath: path)
        let error = #expect(throws: CommandError.self) { try ContextFile(at: path) }
        #expect(error?.message.contains("chmod 600") == true)
        #expect(try ContextFile(at: directory + "/none") == ContextFile())
    }

    @Test func `The file is where the environment says`() throws {
        #expect(try ContextFile.path(["HOME": "/h"]) == "/h/.config/ws1ctl/contexts.yaml")
        #expect(try ContextFile.path(["HOME": "/h", "XDG_CONFIG_HOME": "/x"]) == "/x/ws1ctl/contexts.yaml")
        #expect(try ContextFile.path(["HOME": "/h", "WS1CTL_CONTEXTS": "/f"]) == "/f")
        #expect(throws: CommandError.self) { try ContextFile.path([:]) }
    }

    @Test func `Flags come before the environment, and that before the current context`() throws {
        var file = ContextFile()
        file.contexts = ["a": Self.context("https://a"), "b": Self.context("https://b")]
        file.current = "a"
        func collector(_ arguments: [String], _ environment: [String: String] = [:]) throws -> String? {
            try CollectorOptions.parse(arguments).resolve(environment) { () throws(CommandError) in file }.collector
        }
        #expect(try collector([]) == "https://a")
        #expect(try collector([], ["WS1CTL_CONTEXT": "b"]) == "https://b")
        #expect(try collector([], ["WS1_COLLECTOR": "https://c"]) == "https://c")
        #expect(try collector(["--context", "b"], ["WS1_COLLECTOR": "https://c"]) == "https://b")
        #expect(try collector(["--collector", "https://d"], ["WS1_COLLECTOR": "https://c"]) == "https://d")
        let error = #expect(throws: CommandError.self) { try collector(["--context", "z"]) }
        #expect(error?.message.contains("a, b") == true)
        file.current = nil
        #expect(throws: CommandError.self) { try collector([]) }
    }
}
