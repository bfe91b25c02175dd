import ArgumentParser
import ClusterMove
import CollectorMaintenance
import CommandKit
import Foundation
import Logging
import Registry
import TelemetryBasics

struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Move a collector's data directory into an empty cluster.",
        discussion: """
            Takes over tokens, devices, profiles, commands, records with their counts, and logs. Devices notice \
            nothing: the collector's ids and their credentials stay. End the collector first, and make the cluster's \
            tables with `ws1collector cluster init`. Collectors refuse the cluster until the move has ended. It proves \
            that everything has arrived. Then it marks the directory, so that nobody serves it again.

            A move that was cut short goes on when it is run again. Until its last step the directory can be served, \
            too. The way back from a cluster is `ws1collector export`.

            Examples:
              ws1collector move --from /var/lib/ws1collector --to cluster --dry-run
              ws1collector move --from /var/lib/ws1collector --to cluster --config /etc/ws1collector.yaml
            """)

    enum Target: String, CaseIterable, ExpressibleByArgument {
        case cluster
    }

    @Option(help: ArgumentHelp("The data directory to move.", valueName: "dir"))
    var from: String

    @Option(help: ArgumentHelp("Where to: the cluster that the settings name.", valueName: "target"))
    var to: Target

    @OptionGroup var options: DataOptions

    @Flag(help: "Only print what would be moved; works while a collector runs.")
    var dryRun = false

    @Flag(help: "Print what was moved as JSON; the steps then go to standard error.")
    var json = false

    func run() async throws {
        if dryRun { return try await plan() }
        try await options.withCluster { cluster in
            try await cluster.requireUsable()
            let source = try MoveSource.open(directory: from, logger: .ofCommand)
            let result: Result<MoveReport, any Error>
            do {
                let move = ClusterMove(
                    from: source,
                    to: cluster.settings.clusterRecords,
                    registry: cluster.postgresRegistry,
                    chunks: try cluster.chunks(), name: cluster.settings.cluster.name, logger: .ofCommand)
                result = .success(try await move.run(report))
            } catch { result = .failure(error) }
            await source.close()
            let moved = try result.get()
            if json { try Output.json(moved) }
        }
    }

    private func report(_ news: MoveNews) {
        switch news {
        case .step(let text) where !json: try? Output.line(text)
        case .step(let text), .progress(let text): StandardError.line(text)
        }
    }

    private func plan() async throws {
        let source = try MoveSource.open(directory: from, exclusive: false, logger: .ofCommand)
        let result: Result<MoveReport, any Error>
        do { result = .success(try await ClusterMove.plan(of: source)) } catch { result = .failure(error) }
        await source.close()
        let plan = try result.get()
        if json { return try Output.json(plan) }
        try Output.line(
            """
            \(CountText.of(plan.files, "record file")) with \(CountText.of(plan.fileBytes, "byte")): \
            \(CountText.of(plan.records, "record")) of \(CountText.of(plan.chains, "chain"))
            """
        )
        try Output.line("\(CountText.of(plan.chunks, "chunk")) of logs with \(CountText.of(plan.chunkBytes, "byte"))")
        try Output.line("collector.sqlite with its registry")
        if let moved = source.moved {
            try Output.line("\(from) was moved to the cluster \(moved.cluster) already.")
        }
        try Output.line("Nothing was done.")
    }
}

extension ClusterSettings {
    /// Names the cluster for people, without passwords.
    fileprivate var name: String { "\(clickHouseDatabase) at \(clickHouseURLs.first ?? "no address")" }
}
