import ArgumentParser
import ClickHouse
import ClusterStore
import Foundation
import PostgreSQL
import RecordStore
import Synchronization
import WireModel

struct ClusterStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster-store",
        abstract:
            "Records a second into one collector's store over PostgreSQL and ClickHouse, beside ClickHouse alone.",
        discussion: """
            Start the servers with `Tools/run-cluster --servers-only`, and use them for nothing else. ClickHouse alone \
            then takes records of the same size into a table of the same form, with the same replicas and quorum, one \
            insert after the other, each with as many parts as a group of the store had.
            """)

    @OptionGroup var options: MeasurementOptions
    @Option(help: "URLs of the replicas of ClickHouse, divided by commas.")
    var clickhouseUrls: String
    @Option(help: "The password of ClickHouse's user default.")
    var clickhousePassword = ""
    @Option(help: "PostgreSQL's connection string, with a database of its own.")
    var postgresql: String
    @Option(help: "The database in ClickHouse.")
    var clickhouseDatabase = "ws1_benchmark"
    @Option(help: "Devices that send at the same time. Each waits for its answer.")
    var devices = 128

    func validate() throws {
        guard (1...4096).contains(devices) else {
            throw ValidationError("--devices \(devices): a number from 1 to 4096 is needed")
        }
    }

    func run() async throws {
        var clickHouse = ClickHouseConfiguration(urls: clickhouseUrls.split(separator: ",").map(String.init))
        clickHouse.database = clickhouseDatabase
        clickHouse.password = clickhousePassword
        let configuration = ClusterRecordStore.Configuration(
            postgreSQL: PostgresConfiguration(connectionString: postgresql), clickHouse: clickHouse)
        _ = try await ClusterSetup(configuration, logger: RunningCluster.logger).run()
        var contestants: [Contestant] = []
        var notes: [() -> String] = []
        for size in [100, 1000] {
            // A measurement has four rounds of all devices at least.
            let records = max(options.records, devices * size * 4)
            let name = "ClickHouse alone, \(size) to a row"
            let groups = GroupCounter()
            notes.append { "\(size) to a part: \(groups.text)" }
            contestants.append(
                Contestant("cluster store, \(size) to a part, \(devices) devices", baseline: name) {
                    try await configuration.waitForMerges()
                    groups.reset()
                    return try await stored(configuration, records: records, recordsPerPart: size, groups)
                })
            contestants.append(
                Contestant(name) {
                    try await configuration.waitForMerges()
                    return try await ClickHouseAlone(configuration: configuration, partsPerInsert: groups.partsPerGroup)
                        .measure(records: records, recordsPerPart: size)
                })
        }
        var comparison = try await Comparison.run(
            "cluster-store", unit: "records/s", rounds: options.rounds, contestants)
        comparison.notes = notes.map { $0() }
        try options.report([comparison])
    }

    private func stored(
        _ configuration: ClusterRecordStore.Configuration, records: Int, recordsPerPart: Int, _ groups: GroupCounter
    ) async throws -> Double {
        let store = try await ClusterRecordStore.open(configuration, logger: RunningCluster.logger, observer: groups)
        let perDevice = records / devices
        let chains = (0..<devices).map { _ in SampleChain.parts(records: perDevice, recordsPerPart: recordsPerPart) }
        let seconds = try await Stopwatch.seconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for chain in chains {
                    group.addTask {
                        let device = DeviceID.random()
                        for part in chain {
                            let answer = await store.append(
                                [part], from: device, receivedAt: SystemStoreClock().now()
                            ).first
                            guard answer?.outcome == .stored, answer?.mark.number == part.last,
                                answer?.mark.link == part.lastLink
                            else {
                                throw BenchmarkError(
                                    "part up to \(part.last): \(answer.map { "\($0)" } ?? "no answer")")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        await store.shutDown()
        return Double(perDevice * devices) / seconds
    }
}

/// Counts the store's groups.
private final class GroupCounter: StoreObserver {
    private let sums = Mutex((groups: 0, requests: 0, seconds: 0.0))

    func committed(_ commit: StoreCommit) {
        let (seconds, attoseconds) = commit.duration.components
        sums.withLock {
            $0.groups += 1
            $0.requests += commit.requests
            $0.seconds += Double(seconds) + Double(attoseconds) * 1e-18
        }
    }

    func reset() { sums.withLock { $0 = (0, 0, 0) } }

    /// 1 at least.
    var partsPerGroup: Int { sums.withLock { max($0.requests / max($0.groups, 1), 1) } }

    var text: String {
        let sums = sums.withLock { $0 }
        let count = Double(max(sums.groups, 1))
        return String(
            format: "%d groups of %.1f requests, %.0f ms each from the claim to the answer", sums.groups,
            Double(sums.requests) / count, sums.seconds / count * 1000)
    }
}
