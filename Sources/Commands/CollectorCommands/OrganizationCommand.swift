import ArgumentParser
import Collector
import CollectorStore
import CommandKit
import Foundation
import TelemetryBasics
import WireModel

struct OrganizationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "organization",
        abstract: "Make and list organizations; works beside a running collector.",
        discussion: """
            Organizations never see each other's data. A new one has a privacy key of its own and the default profile.

            Examples:
              ws1collector organization create west --data /var/lib/ws1collector
              ws1collector token create --enrollment --organization west --data /var/lib/ws1collector
              ws1collector organization list --json --data /var/lib/ws1collector
            """,
        subcommands: [Create.self, List.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make an organization.")

        @OptionGroup var data: DataOptions

        @Argument(
            help: ArgumentHelp(
                "1 to 63 letters, digits, `.`, `_`, `-`; the first a letter or digit.", valueName: "name"))
        var name: String

        func run() async throws {
            try await TokenCommand.withRegistry(data) { try await $0.createOrganization(name) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "All organizations, by name.")

        @OptionGroup var data: DataOptions

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let rows = try MetadataSnapshot(directory: try data.directory()).organizations().map(
                OrganizationView.init)
            if json { return try Output.json(rows) }
            try Output.table(
                [["NAME", "DEVICES", "PROFILE", "CREATED"]]
                    + rows.map { [$0.name, "\($0.devices)", "\($0.profileRevision)", $0.created] })
        }
    }
}

private struct OrganizationView: Encodable {
    var name: String
    var devices: Int
    var profileRevision: UInt64
    var created: String

    init(_ row: OrganizationRow) {
        name = row.name
        devices = row.devices
        profileRevision = row.profileRevision
        created = Timestamp.text(row.created)
    }
}

extension MetadataSnapshot {
    /// - Throws: `.usage` for an organization or a device that is not there: nothing would be found, and a misspelt
    ///   name look like success.
    func require(organization: String?, device: DeviceID? = nil) throws {
        if let organization, !(try organizations().contains { $0.name == organization }) {
            throw CommandError(
                .usage, "There is no organization \"\(organization)\"; `ws1collector organization list` shows them.")
        }
        if let device, !(try hasDevice(device)) {
            throw CommandError(.usage, "There is no device \(device); `ws1collector balance` lists them.")
        }
    }
}
