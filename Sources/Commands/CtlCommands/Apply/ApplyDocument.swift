import CommandKit
import FoundationEssentials
import JSON
import TelemetryBasics

/// A document of `ws1ctl apply`: what shall be at the collector.
///
///     kind: profile                  # or log-quotas, or assignments
///     organization: acme             # default: that of the context
///     application: com.example.app   # of a profile; default: the organization's own
///     profile:
///       sampling:
///         interval: 60s
struct ApplyDocument: Equatable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case profile
        case logQuotas = "log-quotas"
        case assignments

        /// The members beside `kind` and `organization`.
        var members: Set<String> {
            switch self {
            case .profile: ["application", "profile"]
            case .logQuotas: ["quotas"]
            case .assignments: ["groups", "applications"]
            }
        }
    }

    let file: String
    let kind: Kind
    let organization: String?
    let application: String?
    /// The profile, the quotas by application, or groups and applications.
    let content: JSONValue

    /// The documents of a file, or of the files of a directory that end in `.yaml`, `.yml` or `.json`, by name.
    /// - Throws: `.usage` with every mistake.
    static func read(_ path: String) throws(CommandError) -> [ApplyDocument] {
        var files = [path]
        var isDirectory = false
        if let names = try? Files<FileError>.names(in: path) {
            isDirectory = true
            files = names.filter { name in
                !name.hasPrefix(".") && [".yaml", ".yml", ".json"].contains { name.hasSuffix($0) }
            }.sorted().map { "\(path)/\($0)" }
        }
        var documents: [ApplyDocument] = []
        var mistakes: [CommandError] = []
        for file in files {
            do throws(CommandError) {
                documents.append(try ApplyDocument(try DocumentFile.read(file), file: file))
            } catch { mistakes.append(error) }
        }
        try CommandError.throwIfAny(mistakes)
        guard !isDirectory || !documents.isEmpty else {
            throw CommandError(.usage, "\(path) has no file that ends in .yaml, .yml or .json")
        }
        return documents
    }

    init(_ value: JSONValue, file: String) throws(CommandError) {
        func mistake(_ text: String) -> CommandError { CommandError(.usage, "\(file): \(text)") }
        guard case .object(let members) = value else { throw mistake("expected `kind` and its members") }
        let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
        guard let kind = members["kind"]?.string.flatMap(Kind.init(rawValue:)) else {
            throw mistake("`kind` is \(members["kind"]?.cell ?? "missing"); expected one of \(kinds)")
        }
        let unknown = Set(members.keys).subtracting(kind.members).subtracting(["kind", "organization"]).sorted()
        guard unknown.isEmpty else {
            throw mistake(
                "a document of kind \(kind.rawValue) has no `\(unknown.joined(separator: "`, `"))`; "
                    + "it has organization, \(kind.members.sorted().joined(separator: ", "))")
        }
        for name in ["organization", "application"] {
            guard let value = members[name] else { continue }
            guard value.string?.isEmpty == false else { throw mistake("`\(name)` is \(value.cell); expected a name") }
        }
        func object(_ name: String) throws(CommandError) -> JSONValue {
            guard case .object? = members[name] else { throw mistake("`\(name)` is missing, or not names with values") }
            return members[name] ?? .null
        }
        switch kind {
        case .profile: content = try object("profile")
        case .logQuotas:
            content = try object("quotas")
            guard case .object(let quotas) = content, quotas.values.allSatisfy({ $0.int64 != nil }) else {
                throw mistake("`quotas` has a value that is no number of bytes")
            }
        case .assignments:
            for name in ["groups", "applications"] {
                guard case .array = members[name] ?? .array([]) else { throw mistake("`\(name)` is not a list") }
            }
            content = ["groups": members["groups"] ?? [], "applications": members["applications"] ?? []]
        }
        self.file = file
        self.kind = kind
        organization = members["organization"]?.string
        application = kind == .profile ? members["application"]?.string : nil
    }
}
