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

    @Flag(help: "Print JSON, also if a setting is wrong; the exit code says which.")
    var json = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        do { try await check() } catch let error as CommandError {
            if json { try Output.json(ValidationOutcome(error)) }
            throw error
        }
    }

    private func check() async throws {
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
        var remarks: [String] = []
        if let authority = certificates.authority {
            remarks.append("The authority of devices' certificates expires at \(Timestamp.text(authority.expires)).")
        }
        if let pin = tls?.pin {
            remarks.append("The pin of the server's key, for certificatePins: \(pin.base64EncodedString())")
        }
        if isListening { remarks.append("A program already listens on \(settings.listen).") }
        var warnings = options.warnings
        warnings += DirectoryExposure.of(directory: settings.data).map { "warning: \($0.message(settings.data))" }
        do throws(Assets.Fault) { _ = try Assets(directory: ConsoleAssets(settings.assets).directory) } catch {
            warnings.append("warning: there is no web console: \(error)")
        }
        for warning in warnings { StandardError.line("ws1collector: \(warning)") }
        let shown = Settings.declarations.map { ($0.name, settings.shown($0.name)) }
        let width = (shown.map(\.0.count).max() ?? 0) + 2
        let lines = shown.map { $0.padding(toLength: width, withPad: " ", startingAt: 0) + ($1 ?? "-") }
        try Output.outcome(
            (lines + remarks + ["The configuration is valid."]).joined(separator: "\n"),
            ValidationOutcome(
                remarks: warnings + remarks, settings: Dictionary(uniqueKeysWithValues: shown).compactMapValues { $0 }),
            asJSON: json)
    }
}
