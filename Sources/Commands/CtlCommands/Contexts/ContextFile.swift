import CommandKit
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel
import Yams

/// The person's file of contexts, in YAML and of mode 0600.
///
///     current: production
///     contexts:
///       production:
///         collector: "https://collector.example.org"
///         token-file: "/home/ann/.config/ws1ctl/production.token"
struct ContextFile: Equatable, Sendable {
    private static let maximumBytes = 1 << 20

    var current: String?
    var contexts: [String: Context] = [:]

    /// `WS1CTL_CONTEXTS`, or `ws1ctl/contexts.yaml` in `XDG_CONFIG_HOME` or `~/.config`.
    static func path(_ environment: [String: String]) throws(CommandError) -> String {
        func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let path = given("WS1CTL_CONTEXTS") { return path }
        if let home = given("XDG_CONFIG_HOME"), home.hasPrefix("/") { return home + "/ws1ctl/contexts.yaml" }
        guard let home = given("HOME") else {
            throw CommandError(.usage, "HOME is not set: set it, or WS1CTL_CONTEXTS to the file of contexts")
        }
        return home + "/.config/ws1ctl/contexts.yaml"
    }

    init() {}

    /// Reads the file; one that is not there has no context.
    /// - Throws: `.usage` also if others may write the file. They could send the token to a collector of theirs.
    init(at path: String) throws(CommandError) {
        let content: [UInt8]?
        do throws(FileError) { content = try Files<FileError>.read(path, maximumBytes: Self.maximumBytes + 1) } catch {
            throw CommandError(.usage, "\(error). It holds your contexts", cause: error)
        }
        guard let content else {
            self.init()
            return
        }
        guard content.count <= Self.maximumBytes else {
            throw CommandError(.usage, "\(path) has more than \(Self.maximumBytes) bytes: it is no file of contexts")
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o022 == 0 else {
            throw CommandError(.usage, "\(path) can be written by others: run `chmod 600 \(path)`")
        }
        try self.init(text: String(decoding: PlainText.normalized(content), as: UTF8.self), path: path)
    }

    /// - Throws: `.usage` that lists every mistake with its line.
    init(text: String, path: String) throws(CommandError) {
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch {
            let words = "\(error)".split(separator: "\n").first.map(String.init) ?? "unknown"
            throw CommandError(.usage, "\(path) is not YAML: \(words)")
        }
        guard let root, root.null == nil else { return }
        var mistakes: [CommandError] = []
        func mistake(_ node: Node, _ text: String) {
            let line = node.mark.map { " in line \($0.line)" } ?? ""
            mistakes.append(CommandError(.usage, "\(path): \(text)\(line)"))
        }
        guard let mapping = root.mapping else {
            throw CommandError(.usage, "\(path) is not a mapping with `current` and `contexts`")
        }
        for (key, value) in mapping {
            switch key.string {
            case "current":
                current = value.string
                if current == nil { mistake(value, "`current` is not a name") }
            case "contexts":
                guard let list = value.mapping else {
                    mistake(value, "`contexts` is not a mapping of names")
                    continue
                }
                for (name, fields) in list {
                    guard let name = name.string, let fields = fields.mapping else {
                        mistake(fields, "a context is a name with a mapping of settings")
                        continue
                    }
                    var context = Context()
                    for (field, value) in fields {
                        guard let known = Context.keys.first(where: { $0.name == field.string }) else {
                            let names = Context.keys.map(\.name).joined(separator: ", ")
                            mistake(field, "unknown setting `\(field.string ?? "?")`; known: \(names)")
                            continue
                        }
                        guard let text = value.scalar?.string, known.write(&context, text) else {
                            mistake(value, "`\(known.name)` has no valid value")
                            continue
                        }
                    }
                    contexts[name] = context
                }
            default: mistake(key, "unknown setting `\(key.string ?? "?")`; known: current, contexts")
            }
        }
        try CommandError.throwIfAny(mistakes)
    }

    /// The text of the file. Names and values are JSON strings, which YAML reads as they are.
    func text() throws(CommandError) -> String {
        func quoted(_ text: String) throws(CommandError) -> String {
            do {
                return String(decoding: try JSONEncoder.stable().encode(text), as: UTF8.self)
            } catch { throw CommandError(.failed, "\(error)", cause: error) }
        }
        var lines: [String] = []
        if let current { lines.append("current: \(try quoted(current))") }
        lines.append(contexts.isEmpty ? "contexts: {}" : "contexts:")
        for (name, context) in contexts.sorted(by: { $0.key < $1.key }) {
            let fields = Context.keys.filter { $0.read(context) != nil }
            lines.append("  \(try quoted(name)):" + (fields.isEmpty ? " {}" : ""))
            for key in fields {
                lines.append("    \(key.name): \(try quoted(key.read(context) ?? ""))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Replaces the file in one step, and makes its directory if need be, mode 0700.
    func write(to path: String) throws(CommandError) {
        let text = try text()
        do throws(FileError) {
            if let directory = Paths.parent(of: path) { try Files<FileError>.makeDirectory(directory, syncing: true) }
            try Files<FileError>.replace(path, with: text.utf8.span.bytes)
        } catch {
            throw CommandError(error.isDiskFull ? .tryAgain : .failed, "\(error)", cause: error)
        }
    }

    /// The context of this name.
    /// - Throws: `.usage` that lists those that there are.
    func context(named name: String) throws(CommandError) -> Context {
        guard let context = contexts[name] else {
            let known = contexts.keys.sorted().joined(separator: ", ")
            throw CommandError(
                .usage,
                "there is no context `\(name)`. "
                    + (known.isEmpty ? "Make one with `ws1ctl context set`" : "There are: \(known)"))
        }
        return context
    }
}
