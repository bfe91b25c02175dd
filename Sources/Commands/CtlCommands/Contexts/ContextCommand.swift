import ArgumentParser
import CommandKit
import FoundationEssentials
import HTTPConnection
import TelemetryBasics

/// `ws1ctl context`: the collectors that the person works with.
struct ContextCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "context", abstract: "Lists, adds, changes and removes the collectors that you work with.",
        discussion: """
            They are kept in ~/.config/ws1ctl/contexts.yaml, or in the file that WS1CTL_CONTEXTS names. Tokens stay in \
            files of their own.
            """,
        subcommands: [ContextList.self, ContextUse.self, ContextSet.self, ContextDelete.self], aliases: ["contexts"])
}

struct ContextList: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the contexts.")

    @OptionGroup var output: OutputOptions

    struct Row: Encodable {
        var name: String
        var isCurrent: Bool
        var collector: String?
        var organization: String?
        var tokenFile: String?
    }

    func run() throws {
        let file = try ContextFile(at: try ContextFile.path(ProcessInfo.processInfo.environment))
        let rows = file.contexts.sorted { $0.key < $1.key }.map { name, context in
            Row(
                name: name, isCurrent: name == file.current, collector: context.collector,
                organization: context.organization, tokenFile: context.tokenFile)
        }
        if output.names { return try rows.forEach { try Output.line($0.name) } }
        if output.json { return try Output.json(rows) }
        try Output.table(
            [["", "name", "collector", "organization", "token file"]]
                + rows.map {
                    [
                        $0.isCurrent ? "*" : "", $0.name, $0.collector ?? "-", $0.organization ?? "-",
                        $0.tokenFile ?? "-",
                    ]
                })
    }
}

struct ContextUse: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use", abstract: "Makes a context the one that commands use without --context.")

    @Argument(help: "The context.", completion: .contexts)
    var name: String

    func run() throws {
        let path = try ContextFile.path(ProcessInfo.processInfo.environment)
        var file = try ContextFile(at: path)
        _ = try file.context(named: name)
        file.current = name
        try file.write(to: path)
    }
}

struct ContextSet: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Adds a context, or changes what is given of one.",
        discussion: "The first context becomes the current one.")

    @Argument(help: "The context.", completion: .contexts)
    var name: String

    @OptionGroup var settings: CollectorSettings

    func run() throws {
        guard !name.isEmpty, name.utf8.count <= 64,
            name.unicodeScalars.allSatisfy({ $0.properties.isAlphabetic || "0123456789._-".unicodeScalars.contains($0) }
            )
        else {
            throw CommandError(
                .usage, "`\(name)` is no name of a context: use up to 64 letters, digits, dots, dashes and underscores")
        }
        var given = settings.context
        // The file is used from other directories, too.
        given.tokenFile = given.tokenFile.map(Self.absolute)
        given.certificateAuthorityFile = given.certificateAuthorityFile.map(Self.absolute)
        let path = try ContextFile.path(ProcessInfo.processInfo.environment)
        var file = try ContextFile(at: path)
        let context = (file.contexts[name] ?? Context()).overridden(by: given)
        guard let collector = context.collector else {
            throw CommandError(.usage, "a new context needs --collector URL")
        }
        do throws(ConnectionSettingsError) { _ = try EndpointURL(collector: collector) } catch {
            throw CommandError(.usage, error.message, cause: error)
        }
        file.contexts[name] = context
        if file.current == nil { file.current = name }
        try file.write(to: path)
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}

struct ContextDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Removes a context. Its token file stays.")

    @Argument(help: "The context.", completion: .contexts)
    var name: String

    func run() throws {
        let path = try ContextFile.path(ProcessInfo.processInfo.environment)
        var file = try ContextFile(at: path)
        _ = try file.context(named: name)
        file.contexts[name] = nil
        if file.current == name { file.current = nil }
        try file.write(to: path)
    }
}
