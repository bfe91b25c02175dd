import Foundation
import Logging
import RecordStore
import StoreTestKit
import TestKit
import Transmitter
import WireModel
@testable import DataSampler

@testable import AWSDK

/// An engine of a test's own over a collector without a network.
struct SDKBench {
    let store = InMemoryRecordStore()
    let collector: LoopbackCollector
    let engine: SDKEngine
    let delegate = RecordingDelegate()

    var controller: AWController { AWController(engine: engine) }

    /// - Parameters:
    ///   - directory: `nil`: there is no configuration.
    ///   - checkLimit: how long the initial check waits for a profile.
    ///   - deliveryLimit: how long completions wait for the collector.
    init(
        _ directory: String?, profile: WireProfile? = .analyticsOn, checkLimit: Duration = .seconds(300),
        deliveryLimit: Duration = .seconds(300), detectors: [any CompromiseDetector] = []
    ) {
        let collector = LoopbackCollector(store: store, profile: profile)
        self.collector = collector
        engine = SDKEngine(checkLimit: checkLimit, deliveryLimit: deliveryLimit) {
            configuration, delegate throws(DataSamplerError) in
            var environment = SamplerEnvironment()
            environment.slot = ProcessSlot()
            environment.lockWait = .zero
            environment.machineHash = "machine"
            environment.conditions = { _, _ in UnknownConditions() }
            environment.detectors = { _, _, _ in detectors }
            environment.connect = { _ in SamplerEnvironment.Connection(transport: collector) {} }
            return try DataSampler(
                configuration: configuration, environment: environment, delegate: delegate,
                logger: Logger(label: "test"))
        }
        engine.delegate = delegate
        guard let directory else { return }
        var configuration = DataSamplerConfiguration(
            sampleModules: .analytics, defaultSampleInterval: 1, defaultTransmitInterval: 1, traceLevel: .off,
            directory: directory, collectorURL: "https://collector.test", enrollmentToken: "enrollment-token")
        configuration.applicationIdentifier = "com.example.kiosk"
        configuration.moduleIntervals["analytics"] = .init(sampleInterval: 86_400)
        configuration.eventHold = 0
        configuration.lossWindow = 0
        engine.configuration = configuration
    }

    /// Starts, and waits for the end of the initial check.
    func start() async throws {
        let before = RecordingDelegate.checks(delegate.reported)
        controller.start()
        try await delegate.until { RecordingDelegate.checks($0) > before }
    }

    func stop() async { await withCheckedContinuation { done in controller.stop { _, _ in done.resume() } } }

    /// Makes a call and waits for its completion. `nil`: it succeeded.
    static func failure(_ call: (@escaping SDKCompletion) -> Void) async -> AWSDKError? {
        let error: (any Error)? = await withCheckedContinuation { done in
            call { success, error in
                let isSound = success == (error == nil)
                done.resume(returning: isSound ? error : CompletionContradictsItself() as any Error)
            }
        }
        return error.map { AWSDKError($0) ?? .internalError }
    }

    struct CompletionContradictsItself: Error {}

    func beacons() async throws -> [WireBeacon] {
        try await records(.status).filter { $0.header.kind == WireRecordKind.beacon.rawValue }.map {
            try WireBeacon.decode($0.header.body(of: $0.bytes))
        }
    }

    func events() async throws -> [WireEvent] {
        try await records(.event).map { try WireEvent.decode($0.header.body(of: $0.bytes)) }
    }

    /// What arrived, in the order of its numbers.
    private func records(_ stream: StreamName) async throws -> [StoredRecord] {
        try await store.records(of: collector.device, stream: stream, kind: nil, module: nil, before: nil, limit: 1000)
            .records.sorted { $0.header.number < $1.header.number }
    }
}

/// Keeps what is reported to it, in words.
final class RecordingDelegate: AWControllerDelegate {
    private let words = Watched<[String]>([])

    var reported: [String] { words.value }

    /// How many initial checks have ended.
    static func checks(_ words: [String]) -> Int { words.count { $0.hasPrefix("check") } }

    func until(_ holds: @escaping @Sendable ([String]) -> Bool) async throws { try await words.until(holds) }

    private func record(_ word: String) { words.change { $0.append(word) } }

    func controllerDidFinishInitialCheck(error: NSError?) { record("check \(error.map { "\($0.code)" } ?? "passed")") }
    func controllerDidReceive(profiles: [Profile]) { record("profile \(profiles.map(\.revision))") }
    func controllerDidReceive(enrollmentStatus: EnrollmentStatus) { record("\(enrollmentStatus)") }
    func controllerWillStartRefresh() { record("refresh") }
    func controllerDidWipeCurrentUserData() { record("wiped") }
    func controllerDidLockDataAccess() { record("locked") }
    func controllerDidUnlockDataAccess() { record("unlocked") }
    func applicationShouldStopNetworkActivity(reason: NetworkActivityStatus) { record("stop \(reason)") }
    func applicationCanResumeNetworkActivity() { record("resume") }
    func controllerDidDetectUserChange() { record("user changed") }
}

/// Keeps what is reported to it by the names of 18.5.
final class FormerDelegate: AWControllerDelegate {
    private let words = Watched<[String]>([])

    var reported: [String] { words.value }

    func until(_ holds: @escaping @Sendable ([String]) -> Bool) async throws { try await words.until(holds) }

    private func record(_ word: String) { words.change { $0.append(word) } }

    func controllerDidFinishInitialCheck(error: NSError?) { record("check \(error.map { "\($0.code)" } ?? "passed")") }
    func receivedProfiles(_ profiles: NSArray) { record("profiles \(profiles.compactMap { $0 as? Profile }.count)") }
    func didReceiveEnrollmentStatus(_ enrollmentStatus: EnrollmentStatus) { record("\(enrollmentStatus)") }
    func wipe() { record("wipe") }
    func stopNetworkActivity(_ networkActivityStatus: NetworkActivityStatus) { record("stop \(networkActivityStatus)") }
    func resumeNetworkActivity() { record("resume") }
    func userChanged() { record("user changed") }
}
