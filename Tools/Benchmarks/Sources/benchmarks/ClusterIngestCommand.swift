import ArgumentParser
import Foundation

struct ClusterIngestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster-ingest",
        abstract: "Records a second that the collectors of a cluster acknowledge, beside ClickHouse alone.",
        discussion: """
            Start the cluster with `Tools/run-cluster --release --agents 0 --data DIR`. Devices, collectors and all \
            servers share this machine's cores. ClickHouse alone then takes records of the same size into a table of \
            the same form, with the same replicas and quorum, one insert after the other, each with as many parts as \
            an insert of the collectors had. The tables for people are filled while the collectors store; the notes \
            say how long that takes afterwards. Each measurement waits until no replica merges.
            """)

    @OptionGroup var options: MeasurementOptions
    @Option(help: "The directory of the cluster, as Tools/run-cluster has it.")
    var data: String
    @Option(help: "Devices that send at the same time. Each waits for its answer.")
    var devices = 128
    @Option(name: .customLong("per-part"), help: "Records in each part.")
    var perPart: [Int] = [100, 1000]

    func validate() throws {
        guard (1...4096).contains(devices) else {
            throw ValidationError("--devices \(devices): a number from 1 to 4096 is needed")
        }
        guard perPart.allSatisfy((1...1000).contains) else {
            throw ValidationError("--per-part: numbers from 1 to 1000 are needed")
        }
    }

    func run() async throws {
        let cluster = try RunningCluster(data)
        var contestants: [Contestant] = []
        var notes: [String: String] = [:]
        for size in perPart {
            // A measurement has four rounds of all devices at least.
            let records = max(options.records, devices * size * 4)
            for count in 1...cluster.ports.count {
                let name = "\(count) collectors, \(size) to a part, \(devices) devices"
                let baseline = "ClickHouse alone, inserts as of \(count) collectors, \(size) to a row"
                var partsPerInsert = 1
                contestants.append(
                    Contestant(name, baseline: baseline) {
                        var addresses = cluster.addresses
                        addresses.ports = Array(addresses.ports.prefix(count))
                        let load = try IngestLoad(
                            addresses, records: records, recordsPerPart: size, devices: devices)
                        try await cluster.configuration.waitForMerges()
                        let (before, inserts) = (cluster.processorSeconds(), try cluster.inserts())
                        let result = try load.run()
                        let used = Self.processorTime(since: before, of: cluster, result.records)
                        let lag = try cluster.metric("ws1_people_tables_lag_seconds")
                        let now = try cluster.inserts()
                        guard now.count > inserts.count else {
                            throw BenchmarkError("/metrics tells of no insert of samples")
                        }
                        partsPerInsert = max(1, Int((now.parts - inserts.parts) / (now.count - inserts.count)))
                        let filling = try cluster.peopleTablesFilled()
                        let all = Self.processorTime(since: before, of: cluster, result.records)
                        notes[name] =
                            "\(partsPerInsert) parts in an insert; \(result.note); \(used); the tables for people lag "
                            + "\(Report.number(lag)) s at the end and have all after \(Report.number(filling)) s more; "
                            + "until then \(all)"
                        return result.recordsPerSecond
                    })
                contestants.append(
                    Contestant(baseline) {
                        try await cluster.configuration.waitForMerges()
                        let before = cluster.processorSeconds()
                        let rate = try await ClickHouseAlone(
                            configuration: cluster.configuration, partsPerInsert: partsPerInsert
                        ).measure(records: records, recordsPerPart: size)
                        notes[baseline] = Self.processorTime(since: before, of: cluster, records)
                        return rate
                    })
            }
        }
        var comparison = try await Comparison.run(
            "cluster-ingest", unit: "records/s", rounds: options.rounds, contestants)
        comparison.notes = contestants.compactMap { contestant in
            notes[contestant.name].map { "\(contestant.name): \($0)" }
        }
        comparison.notes.append(try await atRest(cluster))
        try options.report([comparison])
    }

    /// Microseconds of a record in each kind of server.
    private static func processorTime(
        since before: [String: Double], of cluster: RunningCluster, _ records: Int
    ) -> String {
        let now = cluster.processorSeconds()
        return "us of processor time for a record: "
            + now.sorted { $0.key < $1.key }.map { name, seconds in
                "\(name) \(Report.number((seconds - before[name, default: 0]) / Double(records) * 1e6))"
            }.joined(separator: ", ")
    }

    private func atRest(_ cluster: RunningCluster) async throws -> String {
        func bytes(_ condition: String) async throws -> Double {
            try await cluster.number(
                "SELECT sum(bytes_on_disk) AS x FROM system.parts WHERE active AND database = 'ws1' AND \(condition)")
        }
        let records = try await cluster.number("SELECT sum(record_count) AS x FROM ws1.slice_sample")
        let slices = try await bytes("table = 'slice_sample'")
        let rows = try await cluster.number("SELECT count() AS x FROM ws1.metric")
        let people = try await bytes("table = 'metric'")
        return
            "at rest on each replica: \(Report.number(slices / max(records, 1))) bytes for a record in slices; "
            + "\(Report.number(rows / max(records, 1))) rows of metrics for a record, "
            + "\(Report.number(people / max(rows, 1))) bytes each"
    }
}
