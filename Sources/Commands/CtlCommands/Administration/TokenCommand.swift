import ArgumentParser
import CollectorClient
import CommandKit
import JSON
import TelemetryBasics
import WireModel

/// `ws1ctl token`.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Lists, creates and revokes tokens.",
        subcommands: [TokenList.self, TokenCreate.self, TokenRevoke.self], aliases: ["tokens"])
}

struct TokenList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists tokens without their secrets, oldest first.")

    @Option(help: "Only enrollment, person or otlp.", completion: .list(["enrollment", "person", "otlp"]))
    var kind: String?
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            try output.print(
                try await session.list(CollectorCall(.get, "tokens", query: [("kind", kind)]), limit: most),
                [
                    ("id", "id"), ("kind", "kind"), ("name", "name"), ("role", "role"),
                    ("organization", "organization"), ("state", "state"), ("uses", "uses"), ("expires", "expiresAt"),
                ])
        }
    }
}

struct TokenCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates a token. Only this answer has its secret.",
        discussion: """
            With --role it is the access token of a person or script, with --otlp one for programs that send OTLP, \
            otherwise an enrollment token of devices. Without --output the answer with the secret is printed.
            """)

    @Argument(help: "The person or script; for another token a note.")
    var name: String?
    @Option(
        help: "scraper (reads metrics only), viewer, operator or administrator.",
        completion: .list(["scraper", "viewer", "operator", "administrator"]))
    var role: String?
    @Flag(help: "Programs send OTLP with it.")
    var otlp = false
    @Option(help: ArgumentHelp("Refused after so long: 2h, 30d.", valueName: "time"))
    var expiresIn: SpanArgument?
    @Option(help: "How many devices may enroll with it. Default: 100.")
    var maximumUses: Int64?
    @Option(help: "The collector's address as devices reach it. The answer then has an enrollment URL.")
    var address: String?
    @Option(
        name: .customLong("output"), help: "Write the secret to this new file, mode 0600.", completion: .file())
    var file: String?
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        guard !otlp || role == nil else { throw CommandError(.usage, "--otlp and --role contradict each other") }
        var body: [String: JSONValue] = ["kind": otlp ? "otlp" : role == nil ? "enrollment" : "person"]
        body["name"] = name.map { .text($0) }
        body["role"] = role.map { .text($0) }
        body["maximumUses"] = maximumUses.map { .integer($0) }
        body["address"] = address.map { .text($0) }
        if let expiresIn {
            body["expiresInSeconds"] = .integer(try expiresIn.seconds(of: "--expires-in", atMostDays: 36_600))
        }
        if let file, Paths.exists(file) {
            throw CommandError(.usage, "\(file) is there already: name a new file, so that no token is lost")
        }
        try await collector.ask { session in
            let answer = try await session.send(CollectorCall(.post, "tokens"), .object(body))
            guard let file, case .object(var members) = answer, let secret = members["token"]?.string else {
                return try output.print(answer)
            }
            let text = secret + "\n"
            do throws(FileError) {
                try Files<FileError>.write(text.utf8.span.bytes, to: file, sync: .contentAndName)
            } catch {
                throw CommandError(
                    .failed,
                    "\(error). The token \(members["id"]?.cell ?? "") exists: revoke it with `ws1ctl token revoke`",
                    cause: error)
            }
            // The URL contains the secret, too.
            members["token"] = nil
            members["enrollmentURL"] = nil
            try output.print(.object(members))
        }
    }
}

struct TokenRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Refuses a token from now on.")

    @Argument(help: "The token: its id, its name, or the first digits of its id.")
    var token: String
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let tokens = try await session.list(CollectorCall(.get, "tokens"))
            let id = try Session.choose("token", token, among: tokens)
            try confirmation.confirm("The collector will refuse token \(token) (\(id))")
            _ = try await session.json(CollectorCall(.delete, "tokens", id))
        }
    }
}
