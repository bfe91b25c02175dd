import ArgumentParser
import Collector
import CollectorAPI
import CommandKit
import Foundation
import Logging
import RecordStore
import Registry
import TelemetryBasics

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Create, list and revoke tokens; works while a collector runs.",
        discussion: """
            Examples:
              ws1collector token create --role viewer --name dashboard
              ws1collector token create --enrollment --expires 7d --uses 200
              ws1collector token create --enrollment --unlimited --name image
              ws1collector token create --otlp --name shop-backend
              ws1collector token list --json
              ws1collector token revoke 0f3c2a6b9d1e4f58
            """,
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a token and print it. It is shown only once.")

        @OptionGroup var data: DataOptions

        @Flag(help: "Create an enrollment token for devices instead of an access token.")
        var enrollment = false

        @Flag(help: "Create a token with which programs send OTLP instead of an access token.")
        var otlp = false

        @Option(
            help: ArgumentHelp(
                "Role of an access token: scraper (reads metrics only), viewer, operator or administrator.",
                valueName: "role"))
        var role: String?

        @Option(help: ArgumentHelp("Owner of the token, as the list shows it.", valueName: "name"))
        var name = ""

        @Option(
            help: ArgumentHelp(
                "The organization (default: all for access tokens, else `default`).", valueName: "name"))
        var organization: String?

        @Option(
            help: ArgumentHelp(
                "How long it is valid, such as 12h, 7d or 52w (default: 30d for enrollment, else no limit).",
                valueName: "time"))
        var expires: SpanArgument?

        @Option(
            help: ArgumentHelp(
                "Devices that may enroll with it (default: \(FirstStart.enrollmentTokenUses)).", valueName: "count"))
        var uses: Int?

        @Flag(
            help: """
                Any number of devices may enroll with it. Whoever finds it can add devices until it expires or is \
                revoked, and can also bring back a revoked device as a new one.
                """)
        var unlimited = false

        @Flag(help: "Print JSON with id and token.")
        var json = false

        private var expiresInSeconds: Int64? {
            get throws {
                try expires?.seconds(of: "--expires", atMostDays: SharedRanges.days.upperBound)
            }
        }

        func run() async throws {
            let settings = try data.dataSettings()
            let made = try await settings.withMetadata { metadata in
                if otlp {
                    guard !enrollment, role == nil, uses == nil, !unlimited else {
                        throw CommandError(
                            .usage, "--otlp takes none of --enrollment, --role, --uses and --unlimited.")
                    }
                    return try await metadata.createOTLPToken(
                        organization: organization ?? "default", expiresInSeconds: try expiresInSeconds, note: name)
                }
                if enrollment {
                    guard role == nil else {
                        throw CommandError(
                            .usage, "--role is for access tokens; --enrollment creates a token for devices.")
                    }
                    guard uses == nil || !unlimited else {
                        throw CommandError(.usage, "--uses and --unlimited contradict each other. Give one of them.")
                    }
                    return try await metadata.createEnrollmentToken(
                        organization: organization ?? "default",
                        expiresInSeconds: try expiresInSeconds ?? FirstStart.enrollmentTokenSeconds,
                        maximumUses: unlimited ? nil : uses ?? FirstStart.enrollmentTokenUses, note: name)
                }
                guard uses == nil, !unlimited else {
                    throw CommandError(
                        .usage,
                        "--\(unlimited ? "unlimited" : "uses") is for enrollment tokens; give --enrollment too.")
                }
                guard let role, let known = PersonRole.allCases.first(where: { "\($0)" == role }) else {
                    throw CommandError(
                        .usage,
                        """
                        --role is \(role ?? "missing"); expected scraper, viewer, operator or administrator (or \
                        --enrollment, or --otlp).
                        """)
                }
                guard !name.isEmpty else { throw CommandError(.usage, "--name is missing. Give the token's owner.") }
                return try await metadata.createPersonToken(
                    name: name, role: known, organization: organization, expiresInSeconds: try expiresInSeconds)
            }
            do {
                if json {
                    try Output.json(["id": made.id, "token": made.token])
                } else {
                    try Output.line(made.token)
                }
            } catch {
                // The token was never shown, so nobody can have it, and it must not stay valid.
                try await settings.withMetadata { try await $0.revokeToken(made.id) }
                throw CommandError(.failed, "\(error.message) The new token \(made.id) is revoked.")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all tokens, also revoked ones; never secrets.")

        @OptionGroup var data: DataOptions

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let rows = try await data.withData { try MetadataSnapshot($0.registry).tokens() }.map(TokenView.init)
            if json { return try Output.json(rows) }
            let table =
                [["ID", "KIND", "NAME", "ROLE", "ORGANIZATION", "CREATED", "EXPIRES", "USES", "STATE"]]
                + rows.map(\.columns)
            try Output.table(table)
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Refuse a token from now on.")

        @OptionGroup var data: DataOptions

        @Argument(help: ArgumentHelp("The token's id, as `list` shows it.", valueName: "id"))
        var id: String

        func run() async throws {
            try await data.dataSettings().withMetadata { try await $0.revokeToken(id) }
        }
    }
}

private struct TokenView: Encodable {
    var id: String
    var kind: String
    var name: String
    var role: String?
    var organization: String?
    var created: String
    var expires: String?
    var uses: Int
    var maximumUses: Int?
    var revoked: String?
    /// One of `good`, `expired`, `used-up` and `revoked`.
    var state: String

    init(_ row: TokenRow) {
        id = row.id
        kind = row.kind.name
        name = row.name
        role = row.role.map { "\($0)" }
        organization = row.organization
        created = Timestamp.text(row.created)
        expires = row.expires.map(Timestamp.text)
        uses = row.uses
        maximumUses = row.maximumUses
        revoked = row.revoked.map(Timestamp.text)
        state = row.state(at: SystemStoreClock().now()).rawValue
    }

    /// A table needs no fractions of a second.
    private static func seconds(_ time: String) -> String { time.prefix(19) + "Z" }

    var columns: [String] {
        [
            id, kind, name, role ?? "-", organization ?? "all", Self.seconds(created),
            expires.map(Self.seconds) ?? "never",
            kind != "enrollment" ? "-" : maximumUses.map { "\(uses)/\($0)" } ?? "\(uses)/unlimited", state,
        ]
    }
}
