import ArgumentParser
import CollectorClient
import CommandKit
import JSON
import WireModel

/// `ws1ctl profile`.
struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile", abstract: "Lists, shows, compares and changes profiles.",
        subcommands: [
            ProfileList.self, ProfileGet.self, ProfileDiff.self, ProfileEdit.self, ProfilePatch.self,
        ], aliases: ["profiles"])
}

/// Which profile is meant.
struct ProfileScopeOptions: ParsableArguments {
    @Option(help: "The profile of this application (bundle id). Default: that of the organization.")
    var application: String?

    func stored(_ session: Session) async throws -> StoredProfile {
        try await StoredProfile.read(
            session, organization: try await session.requireOrganization(), application: application)
    }
}

struct ProfileList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the newest revision of each profile.")

    @Flag(help: "All revisions, newest first.")
    var history = false

    @OptionGroup var scope: ProfileScopeOptions
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            let items = try await session.list(
                CollectorCall(
                    .get, "profile-revisions", try await session.requireOrganization(),
                    query: [
                        ("application", scope.application), ("newest", history ? nil : "true"), ("brief", "true"),
                    ]), limit: most)
            try output.print(
                items,
                [
                    ("organization", "organization"), ("application", "application"), ("revision", "revision"),
                    ("created", "createdAt"), ("author", "author"),
                ])
        }
    }
}

struct ProfileGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Shows a profile's own settings, or those that devices get.")

    @Flag(help: "The profile that devices get, with every default.")
    var effective = false
    @Option(help: "This revision instead of the newest.")
    var revision: Int64?
    @OptionGroup var scope: ProfileScopeOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            var call = CollectorCall(
                .get, "profiles", try await session.requireOrganization(),
                query: [("effective", effective ? "true" : nil), ("revision", revision.map(String.init))])
            if let application = scope.application { call.path.append(application) }
            try output.print(try await session.json(call))
        }
    }
}

struct ProfileDiff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Compares two revisions of a profile, or a file with the newest one.",
        discussion: """
            Settings that go come first, with a minus. A tilde is a changed setting, a plus a new one. With a file the \
            collector also tells findings and risks, with an exclamation mark. Nothing is changed.
            """)

    @Argument(help: "A file with the whole profile, in YAML or JSON; - reads standard input.", completion: .file())
    var file: String?
    @Option(help: "Compare this revision. Default: the one before --to.")
    var from: Int64?
    @Option(help: "With this one. Default: the newest.")
    var to: Int64?
    @OptionGroup var scope: ProfileScopeOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        guard file == nil || from == nil && to == nil else {
            throw CommandError(.usage, "a file is compared with the newest revision: leave out --from and --to")
        }
        let document: JSONValue? = if let file { try DocumentFile.read(file) } else { nil }
        try await collector.ask { session in
            if let document {
                return try await ProfileChange(try await scope.stored(session), to: document, session)
                    .carryOut(session, ConfirmationOptions(), isDryRun: true, output)
            }
            let answer = try await session.json(
                CollectorCall(
                    .get, "profile-revisions", try await session.requireOrganization(), "diff",
                    query: [
                        ("application", scope.application), ("from", from.map(String.init)),
                        ("to", to.map(String.init)),
                    ]))
            if output.json { return try Output.json(answer) }
            let lines = ProfileChange.lines(answer["changes"]?.list ?? [])
            try (lines.isEmpty ? ["no changes"] : lines).forEach(Output.line)
        }
    }
}

struct ProfilePatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "patch", abstract: "Changes a part of a profile by a merge patch (RFC 7396).",
        discussion: """
            A named setting takes its new value, and null returns it to its default. Objects are merged, lists are \
            replaced as a whole. The changes are shown before you are asked. If somebody else changes the profile \
            meanwhile, nothing is changed.
            """)

    @Argument(help: "A file with the patch, in YAML or JSON; - reads standard input.", completion: .file())
    var file: String
    @Flag(help: "Show the changes, and change nothing.")
    var dryRun = false
    @OptionGroup var scope: ProfileScopeOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let patch = try DocumentFile.read(file)
        guard case .object = patch else {
            throw CommandError(.usage, "\(file) is no merge patch: expected names with values")
        }
        try await collector.ask { session in
            let stored = try await scope.stored(session)
            try await ProfileChange(stored, to: stored.profile.merged(with: patch), session)
                .carryOut(session, confirmation, isDryRun: dryRun, output)
        }
    }
}

struct ProfileEdit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Opens a profile in your editor, and stores what you saved.",
        discussion: """
            The editor is VISUAL, or EDITOR, or vi. The collector checks the text before anything changes. Where it \
            refuses, the text stays in a file that the message names.
            """)

    @Flag(help: "Show the changes, and change nothing.")
    var dryRun = false
    @OptionGroup var scope: ProfileScopeOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let stored = try await scope.stored(session)
            let draft = try EditorDraft(of: stored.profile)
            do {
                try await ProfileChange(stored, to: try draft.edited(), session)
                    .carryOut(session, confirmation, isDryRun: dryRun, output)
            } catch {
                StandardError.line("ws1ctl: your text stays in \(draft.path)")
                throw error
            }
            draft.remove()
        }
    }
}
