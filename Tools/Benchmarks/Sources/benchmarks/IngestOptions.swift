import ArgumentParser

/// The options for what is sent to which collector.
struct IngestOptions: ParsableArguments {
    @Option(help: "The release build of ws1collector.")
    var collector = "../../.build/release/ws1collector"

    @Option(help: "Devices that send at the same time, each over a connection of its own.")
    var devices = 16

    func validate() throws {
        guard (1...1000).contains(devices) else {
            throw ValidationError("--devices \(devices): a number from 1 to 1000 is needed")
        }
    }
}
