import Logging
import RecordQueue
import RecordStore
import StoreTestKit
import TestKit
import WireModel
@testable import Transmitter

@testable import DataSampler

/// What tests of the whole data sampler share: a collector without a network, and samplers over directories.
struct SamplerBench {
    let store = InMemoryRecordStore()
    let collector: LoopbackCollector

    init(profile: WireProfile? = .analyticsOn) { collector = LoopbackCollector(store: store, profile: profile) }

    /// Names of the usage events that the library records by itself.
    static let usageEvents: Set = ["launch", "enrollment", "profile.reload", "beacon.force", "logs.send", "wipe"]

    static func configuration(_ directory: String) -> DataSamplerConfiguration {
        var configuration = DataSamplerConfiguration(
            sampleModules: .analytics, defaultSampleInterval: 1, defaultTransmitInterval: 1, traceLevel: .off,
            directory: directory,
            collectorURL: "https://collector.test", enrollmentToken: "enrollment-token")
        // Events need the module. Its own samples would only be in the way.
        configuration.moduleIntervals["analytics"] = .init(sampleInterval: 86_400)
        configuration.eventHold = 0
        configuration.lossWindow = 0
        // Most tests look into the files. `EncryptedStateTests` has the others.
        configuration.encryptsAtRest = false
        return configuration
    }

    static func environment(_ transport: any Transport) -> SamplerEnvironment {
        var environment = SamplerEnvironment()
        environment.slot = ProcessSlot()
        environment.lockWait = .zero
        // A stop sends what is left; nobody waits so long where that cannot be.
        environment.drainTime = .seconds(600)
        environment.machineHash = "machine"
        environment.conditions = { _, _ in UnknownConditions() }
        environment.detectors = { _, _, _ in [] }
        environment.connect = { _ in SamplerEnvironment.Connection(transport: transport) {} }
        return environment
    }

    /// - Parameters:
    ///   - change: of its configuration.
    ///   - environment: a change of what is outside of it.
    func sampler(
        _ directory: String, delegate: (any DataSamplerDelegate)? = nil, logger: Logger = Logger(label: "test"),
        change: (inout DataSamplerConfiguration) -> Void = { _ in },
        environment changeEnvironment: (inout SamplerEnvironment) -> Void = { _ in }
    ) throws -> DataSampler {
        var configuration = Self.configuration(directory)
        change(&configuration)
        var environment = Self.environment(collector)
        changeEnvironment(&environment)
        return try DataSampler(
            configuration: configuration, environment: environment, delegate: delegate, logger: logger)
    }

    /// Starts a sampler and waits for its start beacon, which a call right after the start would share.
    static func start(_ sampler: DataSampler) async throws {
        try await sampler.start()
        _ = try await sampler.running().parts.loop.sendBeacon(.start)
    }

    /// What arrived, in the order of its numbers.
    func stored(_ stream: StreamName) async throws -> [StoredRecord] {
        try await store.records(of: collector.device, stream: stream, kind: nil, module: nil, before: nil, limit: 1000)
            .records
            .sorted { $0.header.number < $1.header.number }
    }

    /// Beacons that arrived.
    func beacons() async throws -> [WireBeacon] {
        try await stored(.status).filter { $0.header.kind == WireRecordKind.beacon.rawValue }.map {
            try WireBeacon.decode($0.header.body(of: $0.bytes))
        }
    }

    /// Results of commands that arrived, with the epoch they came in.
    func results() async throws -> [(epoch: EpochID, result: WireCommandResult)] {
        try await stored(.status).filter { $0.header.kind == WireRecordKind.commandResult.rawValue }
            .map { ($0.epoch, try WireCommandResult.decode($0.header.body(of: $0.bytes))) }
    }

    func events() async throws -> [WireEvent] {
        try await stored(.event).map { try WireEvent.decode($0.header.body(of: $0.bytes)) }
    }

    /// Waits until something has arrived at the collector.
    func arrived(_ holds: () async throws -> Bool) async throws { try await collector.answered.untilCounted(holds) }

    /// Lets others work until something holds, for what happens in the background; bounded by the suite's time limit.
    static func until(_ holds: () async throws -> Bool) async throws {
        while try await !holds() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// The code of what `body` throws; `nil`: nothing.
    static func code(_ body: () async throws(DataSamplerError) -> Void) async -> DataSamplerError.Code? {
        do throws(DataSamplerError) {
            try await body()
            return nil
        } catch {
            return error.code
        }
    }
}
