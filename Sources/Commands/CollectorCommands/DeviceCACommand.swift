import ArgumentParser
import Collector
import CollectorAPI
import CommandKit
import Foundation
import Registry

struct DeviceCACommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-ca",
        abstract: "The authority that issues devices' client certificates.",
        discussion: """
            Example:
              ws1collector device-ca create
            """,
        subcommands: [Create.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an authority and its key; never replaces one.",
            discussion: """
                Writes device-ca.pem and device-ca.key (P-256) to the data directory, readable by the owner only, and \
                prints the settings with which `serve` uses them. A backup of the collector does not contain them: \
                keep a copy of both in a safe place. Whoever has the key can make certificates, but the collector \
                accepts only those that it issued itself.

                Example:
                  ws1collector device-ca create
                """)

        @OptionGroup var data: DataOptions

        @Option(help: ArgumentHelp("The authority's common name.", valueName: "name"))
        var name = "ws1-telemetry devices"

        @Option(
            help: ArgumentHelp(
                "How long it is valid, in whole days: 1d to \(SharedRanges.days.upperBound)d.", valueName: "time"))
        var expires = SpanArgument(seconds: 3650 * 86_400)

        func run() async throws {
            let settings = try data.dataSettings()
            let directory = settings.data
            let seconds = try expires.seconds(of: "--expires", atMostDays: SharedRanges.days.upperBound)
            guard seconds % 86_400 == 0 else {
                throw CommandError(
                    .usage, "--expires is \(expires.defaultValueDescription); expected whole days, such as 3650d.")
            }
            guard (1...64).contains(name.unicodeScalars.count) else {
                throw CommandError(.usage, "--name has \(name.unicodeScalars.count) characters; expected 1 to 64.")
            }
            try await settings.withData { try $0.registry.requireCollector() }
            let (certificate, key) = ("\(directory)/device-ca.pem", "\(directory)/device-ca.key")
            for path in [certificate, key] where FileManager.default.fileExists(atPath: path) {
                throw CommandError(
                    .failed,
                    """
                    \(path) exists. It may have issued devices' certificates; to create another authority, move both \
                    files away.
                    """
                )
            }
            let made = try DeviceAuthority.create(name: name, days: Int(seconds / 86_400))
            let remedy = "Fix that, remove \(certificate) and \(key) if they exist, and try again."
            try OwnerFile(path: key).create(with: made.key, remedy: remedy)
            try OwnerFile(path: certificate).create(with: made.certificate, remedy: remedy)
            try Output.line("device-ca-certificate: \(certificate)")
            try Output.line("device-ca-key: \(key)")
        }
    }
}
