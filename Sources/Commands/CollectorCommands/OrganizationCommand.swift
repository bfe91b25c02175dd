import ArgumentParser
import Collector
import CommandKit
import Foundation
import Registry
import TelemetryBasics
import WireModel

struct OrganizationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "organization",
        abstract: "Create and list organizations; works while a collector runs.",
        discussion: """
            Organizations never see each other's data. A new organization has its own privacy key and the default \
            profile.

            Examples:
              ws1collector organization create west
              ws1collector token create --enrollment --organization west
              ws1collector organization list --json
            """,
        subcommands: [Create.self, List.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create an organization.")

        @OptionGroup var data: DataOptions

        @Argument(
            help: ArgumentHelp(
                "1 to 63 letters, digits, `.`, `_`, `-`, beginning with a letter or digit.", valueName: "name"))
        var name: String

        func run() async throws {
            try await data.dataSettings().withMetadata { try await $0.createOrganization(name) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all organizations by name.")

        @OptionGroup var data: DataOptions

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let rows = try await data.withData { try MetadataSnapshot($0.registry).organizations() }
                .map(OrganizationView.init)
            if json { return try Output.json(rows) }
            try Output.table(
                [["NAME", "DEVICES", "TEST", "PROFILE", "CREATED"]]
                    + rows.map {
                        [$0.name, "\($0.devices)", "\($0.testDevices)", "\($0.profileRevision)", $0.created]
                    })
        }
    }
}

private struct OrganizationView: Encodable {
    var name: String
    /// The number of devices, without test devices.
    var devices: Int
    var testDevices: Int
    var profileRevision: UInt64
    var created: String

    init(_ row: OrganizationRow) {
        name = row.name
        (devices, testDevices) = (row.devices, row.testDevices)
        profileRevision = row.profileRevision
        created = Timestamp.text(row.created)
    }
}

extension MetadataSnapshot {
    /// - Throws: `.usage` if the organization or device does not exist, so that a misspelt name does not look like an
    ///   empty result.
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
