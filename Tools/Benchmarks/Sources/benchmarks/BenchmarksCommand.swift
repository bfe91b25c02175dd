import ArgumentParser

@main
struct BenchmarksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks",
        abstract: "Measures the pipeline beside its baselines, in the same run, on this machine.",
        subcommands: [
            SQLiteBaselineCommand.self, EnqueueCommand.self, BacklogCommand.self, SystemSampleCommand.self,
            StoreCommand.self, ClusterStoreCommand.self, ClusterIngestCommand.self, ClusterReadsCommand.self,
            FleetCommand.self, IngestCommand.self, OTLPCommand.self, ForwardCommand.self, ConsoleCommand.self,
            LogCallCommand.self, LogFetchCommand.self, PrometheusCommand.self, EncryptionCommand.self,
            AgentCommand.self, LocationCommand.self, AllCommand.self,
        ])
}
