import ArgumentParser
import ClusterRegistry
import ClusterStore
import CommandKit
import Logging
import ObjectStorage
import RecordStore
import TelemetryBasics

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Make the tables of several collectors' servers, and recover after a failover.",
        discussion: """
            Several collectors share ClickHouse, PostgreSQL and a bucket if their settings say `store: cluster` and \
            name those servers. Documentation/scale.md says what the servers need.

            Examples:
              ws1collector cluster init --config /etc/ws1collector.yaml --dry-run
              ws1collector cluster init --config /etc/ws1collector.yaml
              ws1collector cluster recover --config /etc/ws1collector.yaml
              ws1collector cluster recover --config /etc/ws1collector.yaml --restored
            """,
        subcommands: [Init.self, Recover.self])

    struct Init: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make all tables, or bring them up to date. May be repeated.",
            discussion: """
                Run it once before the first collector starts, and with each new version of the program before any \
                collector of that version. It also checks that the bucket can be reached.
                """)

        @OptionGroup var options: DataOptions

        @Flag(help: "Only print what would be done.")
        var dryRun = false

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            try await options.withCluster { cluster in
                var steps = try await ClusterSetup(
                    cluster.settings.clusterRecords,
                    logger: .ofCommand
                )
                .run(isDryRun: dryRun)
                steps += try await cluster.postgresRegistry.prepare(isDryRun: dryRun, logger: .ofCommand)
                try await cluster.checkBucket()
                let remark = steps.isEmpty ? ["All tables are up to date."] : dryRun ? ["Nothing was done."] : []
                try Output.outcome((steps + remark).joined(separator: "\n"), ["steps": steps], asJSON: json)
            }
        }
    }

    struct Recover: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open the cluster again after PostgreSQL has failed over or was restored.",
            discussion: """
                After a failover PostgreSQL may have lost its last commits, so collectors answer 503 until this \
                command has run. It finds every record that ClickHouse has stored since, and counts it again. Make \
                sure first that the former primary of PostgreSQL cannot come back. A new incarnation begins: open \
                commands and jobs end, people sign in again, and running collectors end with exit code 75, so that \
                their supervisor starts them anew. The command may be repeated.

                After a restore of PostgreSQL from a backup stop all collectors and give --restored: such a server may \
                look like the one that it was, and nobody else can know that it has lost commits.
                """)

        @OptionGroup var options: DataOptions

        @Flag(help: "PostgreSQL was restored from a backup: recover also if it looks like the server that it was.")
        var restored = false

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            try await options.withCluster { cluster in
                let registry = cluster.postgresRegistry
                let recovery = ClusterRecovery(
                    cluster.settings.clusterRecords,
                    isRestored: restored, logger: .ofCommand
                ) {
                    session throws(StoreError) in
                    try registry.beginIncarnation(in: session, at: SystemStoreClock().now())
                }
                let report = try await recovery.run()
                let words =
                    report.generation == 0
                    ? "There is nothing to recover."
                    : """
                    generation \(report.generation): \(report.movedChains) of \(CountText.of(report.chains, "chain")) \
                    moved over \(CountText.of(report.slices, "slice")) with \(CountText.of(report.records, "record")) \
                    that PostgreSQL had lost.
                    The cluster is open. Collectors that ran have ended and must be started again.
                    """
                try Output.outcome(words, report, asJSON: json)
            }
        }
    }
}

extension SettingFlags {
    /// Opens the cluster that the settings name, for one command.
    func withCluster(_ work: (ClusterData) async throws -> Void) async throws {
        let settings = try dataSettings()
        guard settings.store == .cluster else {
            throw CommandError(
                .usage, "the settings name no cluster. Give `store: cluster` and its servers in the configuration file."
            )
        }
        let cluster = try ClusterData(settings)
        let result: Result<Void, any Error>
        do { result = .success(try await work(cluster)) } catch { result = .failure(error) }
        await cluster.close()
        try result.get()
    }
}
