import ArgumentParser

struct AllCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "all", abstract: "Everything, one after the other.")

    @OptionGroup var options: MeasurementOptions
    @OptionGroup var ingest: IngestOptions

    func run() async throws {
        var comparisons = try await SQLiteBaselineCommand.compare(options)
        comparisons += try await EnqueueCommand.compare(options)
        comparisons += try await SystemSampleCommand.compare(options)
        comparisons += try await StoreCommand.compare(options, devices: ingest.devices)
        comparisons += try await IngestCommand.compare(options, ingest)
        try options.report(comparisons)
    }
}
