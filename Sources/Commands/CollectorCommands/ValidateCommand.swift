import ArgumentParser
import Collector
import CommandKit
import Console
import Foundation
import Logging
import Registry
import TelemetryBasics
import WireModel

struct ValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check all settings as `serve` does, and print those in force.",
        discussion: """
            Reads flags, environment, configuration file and certificates, checks whether the data directory can be \
            used, and binds the listen address for a moment. Writes nothing. A port that a running collector uses is \
            no error. Of a cluster it also checks that all servers answer, that PostgreSQL's settings lose no commits, \
            and that all tables are up to date.

            Example:
              ws1collector validate --config /etc/ws1collector.yaml
            """)

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let settings = try options.settings()
        let (certificates, tls) = try settings.secrets(logger: Logger.ofCommand)
        try DataDirectory(path: settings.data).requireUsable()
        if settings.store == .cluster {
            let cluster = try ClusterData(settings)
            let result: Result<Void, any Error>
            do { result = .success(try await cluster.check()) } catch { result = .failure(error) }
            await cluster.close()
            try result.get()
        }
        try settings.broker.checkFiles()
        let isListening = try await settings.listen.isInUse()
        let authority = certificates.authority
        let names = Settings.declarations.map(\.name)
        let width = (names.map(\.count).max() ?? 0) + 2
        for name in names {
            try Output.line(name.padding(toLength: width, withPad: " ", startingAt: 0) + (settings.shown(name) ?? "-"))
        }
        if let authority {
            try Output.line("The authority of devices' certificates expires at \(Timestamp.text(authority.expires)).")
        }
        if let pin = tls?.pin {
            try Output.line("The pin of the server's key, for certificatePins: \(pin.base64EncodedString())")
        }
        for warning in options.warnings { StandardError.line("ws1collector: \(warning)") }
        for exposure in DirectoryExposure.of(directory: settings.data) {
            StandardError.line("ws1collector: warning: \(exposure.message(settings.data))")
        }
        do throws(Assets.Fault) { _ = try Assets(directory: ConsoleAssets(settings.assets).directory) } catch {
            StandardError.line("ws1collector: warning: there is no web console: \(error)")
        }
        if isListening { try Output.line("A program already listens on \(settings.listen).") }
        try Output.line("The configuration is valid.")
    }
}
