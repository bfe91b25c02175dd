import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Sums up the balances of all devices every few minutes, in the background, and keeps the last result.
///
/// A pass follows the record files, then reads the devices' marks, a page of devices at a time, and keeps sums alone.
/// It rests after each step, so that it uses a small share of a core and of the disk however much there is to read. The
/// first pass over the files of an earlier version may last long; until it has ended, nothing is known.
package actor FleetBalanceKeeper {
    /// A completed pass.
    struct Result: Sendable {
        /// Microseconds since 1970.
        var began: Int64
        var completed: Int64
        /// The balances by organization; without test devices, and of test devices alone.
        var balances: [String: FleetBalance]
        var testBalances: [String: FleetBalance]
        /// Names of record files that could not be read.
        var unreadableFiles: [String]
        /// Faults in record files beyond those that are listed one by one. Nobody knows whose they are.
        var furtherFaults: Int
        var files: Int

        /// - Parameter organization: `nil` for all.
        func balance(of organization: String?, withTest: Bool) -> FleetBalance {
            var sum = FleetBalance()
            for balances in withTest ? [balances, testBalances] : [balances] {
                for (name, balance) in balances.sorted(by: { $0.key < $1.key })
                where organization.map({ $0 == name }) ?? true { sum.add(balance) }
            }
            return sum
        }
    }

    private static let interval = Duration.seconds(300)
    /// The least time between two passes that people ask for.
    private static let leastInterval = Duration.seconds(60)
    /// The working time of a pass times this is the least time to the next one.
    private static let restsPerPass = 20
    /// A step's time times this is the rest after it.
    private static let restsPerStep = 3
    private static let look = Duration.seconds(1)
    private static let devicesPerPage = 500

    private let store: any RecordStore
    private let metadata: MetadataService
    private let now: @Sendable () -> Int64
    private let logger: Logger

    /// `nil` until the first pass has ended.
    private(set) var result: Result?
    private(set) var isRunning = false
    private var isAsked = false
    /// How long the last pass has worked, without its rests.
    private var worked = Duration.zero

    init(
        store: any RecordStore, metadata: MetadataService, logger: Logger, now: @escaping @Sendable () -> Int64
    ) {
        self.store = store
        self.metadata = metadata
        self.logger = logger
        self.now = now
    }

    /// The next pass begins as soon as a minute has gone by since the last one.
    func ask() { isAsked = true }

    /// Runs until the task is cancelled.
    package func run<Time: Clock>(on clock: Time) async where Time.Duration == Duration {
        var (due, earliest) = (clock.now, clock.now)
        while !Task.isCancelled {
            if clock.now >= due || (isAsked && clock.now >= earliest) {
                do {
                    try await pass { try await clock.sleep(for: $0 * Self.restsPerStep) }
                } catch is CancellationError {
                    return
                } catch {
                    logger.warning("the fleet's balance could not be made", metadata: ["error": "\(error)"])
                }
                earliest = clock.now.advanced(by: Self.leastInterval)
                due = clock.now.advanced(by: max(Self.interval, worked * Self.restsPerPass))
            }
            do { try await clock.sleep(for: Self.look) } catch { return }
        }
    }

    /// Makes the balance anew.
    /// - Parameter rest: called after each short step with the time that it needed.
    func pass(resting rest: @Sendable (Duration) async throws -> Void = { _ in }) async throws {
        guard !isRunning else { return }
        (isRunning, isAsked, worked) = (true, false, .zero)
        defer { isRunning = false }
        let began = now()
        var findings: ChainFindings?
        while findings == nil {
            let start = ContinuousClock.now
            findings = try await store.followChains()
            try await record(since: start, rest)
        }
        guard let findings else { return }
        let faults = Dictionary(grouping: findings.faults, by: \.device)
        var result = Result(
            began: began, completed: began, balances: [:], testBalances: [:], unreadableFiles: [],
            furtherFaults: findings.furtherFaults, files: findings.partitions)
        var unreadable = Set(findings.unreadableFiles)
        let owners = try await metadata.deviceOwners()
        for first in stride(from: 0, to: owners.count, by: Self.devicesPerPage) {
            let page = owners[first..<min(first + Self.devicesPerPage, owners.count)]
            let start = ContinuousClock.now
            let marked = try await store.markedBalances(of: Set(page.map(\.id)))
            unreadable.formUnion(marked.unreadableFiles)
            let balances = Dictionary(grouping: marked.balances, by: \.device)
            for owner in page {
                result.add(
                    owner, balances[owner.id, default: []].map(\.balance),
                    found: faults[owner.id.description, default: []])
            }
            try await record(since: start, rest)
        }
        // A missing file has no rows to follow.
        unreadable.formUnion(try await store.harmedPartitions().keys.map(\.name))
        result.unreadableFiles = unreadable.sorted()
        result.completed = now()
        self.result = result
    }

    private func record(
        since start: ContinuousClock.Instant, _ rest: @Sendable (Duration) async throws -> Void
    ) async throws {
        let time = start.duration(to: .now)
        worked += time
        try await rest(time)
    }
}

extension FleetBalanceKeeper.Result {
    fileprivate mutating func add(_ owner: DeviceOwner, _ balances: [EpochBalance], found: [ChainFault]) {
        if owner.isTest {
            testBalances[owner.organization, default: FleetBalance()].add(owner.id, balances, found: found)
        } else {
            self.balances[owner.organization, default: FleetBalance()].add(owner.id, balances, found: found)
        }
    }
}
