import DataSampler
import DeviceTestKit
import Foundation
import LogStore
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import AWSDK

/// The documented calls, from the name to what the collector has.
@Suite(.timeLimit(.minutes(10))) struct TelemetryCallsTests {
    @Test func `Events arrive in the order of the calls, with their values`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        let handler = AnalyticsHandler(engine: bench.engine)
        for number in 1...50 {
            handler.recordEvent(
                AnalyticsEvent.customEvent, eventName: "badge.printed", eventValue: "\(number)", valueType: .integer)
        }
        #expect(
            await SDKBench.failure {
                handler.recordEvent(
                    .customEvent, eventName: "paid", eventValue: "card", valueType: AnalyticsEventValueType.string,
                    completion: $0)
            } == nil)
        #expect(
            await SDKBench.failure {
                handler.recordEvent(
                    .customEvent, eventName: "paid", eventValue: "much", valueType: .double, completion: $0)
            } == .missingRequiredInformation)
        try await bench.collector.answered.untilCounted { try await bench.events().contains { $0.name == "paid" } }
        let events = try await bench.events()
        #expect(events.filter { $0.name == "badge.printed" }.map(\.value.integer) == Array(1...50))
        #expect(events.filter { $0.name == "paid" }.map(\.value.text) == ["card"])
        await bench.stop()
    }

    @Test func `A beacon and a push token are with the collector when their completions say so`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        let transmitter = SDKBeaconTransmitter(engine: bench.engine)
        #expect(await SDKBench.failure { transmitter.sendDeviceStatusBeacon(completion: $0) } == nil)
        #expect(try await !bench.beacons().isEmpty)
        #expect(await SDKBench.failure { transmitter.sendBeacon(updatedAPNSToken: "4f1c", completion: $0) } == nil)
        #expect(try await bench.beacons().contains { $0.pushToken.token == "4f1c" })
        transmitter.startSendingDeviceStatusBeacon()
        transmitter.stopSendingDeviceStatusBeacon()
        await bench.stop()
    }

    @Test func `A completion reports that the collector cannot be reached`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path, deliveryLimit: .milliseconds(50))
        try await bench.start()
        bench.collector.setFaults { _, _ in .requestLost }
        #expect(
            await SDKBench.failure {
                SDKBeaconTransmitter(engine: bench.engine).sendDeviceStatusBeacon(completion: $0)
            } == .serverIsNotReachableForRequiredSetup)
        bench.collector.setFaults { _, _ in nil }
        await bench.stop()
    }

    @Test func `Lines are kept from before the start, fetched in chunks and sent`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        let log = AWLog(engine: bench.engine)
        #expect(!log.hasAWLogs())
        bench.engine.logs.log(.error, "the door is stuck")
        #expect(log.hasAWLogs())
        try await bench.start()
        let chunks = try WS1SDKDataProvider(engine: bench.engine).fetchSDKLogChunks()
        #expect(chunks.count == 1)
        for chunk in chunks {
            #expect(String(decoding: chunk.data, as: UTF8.self).contains("the door is stuck"))
            #expect(chunk.data.count <= 5_000_000 && chunk.suggestedFileName.contains("com.example.kiosk"))
        }
        #expect(Array(chunks).count == 1 && chunks.failure == nil)
        #expect(await SDKBench.failure { done in log.sendApplicationLogs { done($0, $1) } } == nil)
        #expect(!bench.collector.uploads.all.isEmpty)
        await bench.stop()
    }

    /// The only test that uses the objects of the process.
    @Test func `Each log function writes a line of its level`() async throws {
        let directory = try TemporaryDirectory()
        var configuration = try #require(SDKBench(directory.path).engine.configuration)
        // Without a profile that asks for steps, they are not kept.
        var settings = LogStore.Configuration(directory: directory.path + "/logs", applicationName: "kiosk")
        settings.level = .verbose
        let store = try LogStore(settings)
        configuration.logStore = store
        AWController.clientInstance().configuration = configuration
        AWLogError("an error")
        AWLogWarning("a warning")
        AWLogInfo("an event")
        AWLogVerbose("a step")
        AWLogDebug("another step")
        let lines = try WS1SDKDataProvider().fetchSDKLogChunks()
            .flatMap { String(decoding: $0.data, as: UTF8.self).split(separator: "\n") }
        for (letter, message) in [
            ("E", "an error"), ("W", "a warning"), ("I", "an event"), ("V", "a step"), ("V", "another step"),
        ] {
            #expect(lines.contains { $0.contains(" \(letter) ") && $0.hasSuffix(message) }, "\(message) in \(lines)")
        }
        AWController.clientInstance().configuration = nil
        await store.close()
    }

    @Test func `Without a configuration there are no logs`() throws {
        let bench = SDKBench(nil)
        #expect(!AWLog(engine: bench.engine).hasAWLogs())
        #expect(throws: NSError.self) { try WS1SDKDataProvider(engine: bench.engine).fetchSDKLogChunks() }
    }

    @Test func `Device information is reported, and asked anew`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        let information = DeviceInformationController(engine: bench.engine)
        #expect(information.enrollmentStatus == .unknown && information.ssoStatus == nil)
        try await bench.start()
        #expect(await SDKBench.failure { information.requery(completion: $0) } == nil)
        #expect(information.enrollmentStatus == .enrolled && information.organizationGroupName == "default")
        #expect(information.deviceServicesURL == "https://collector.test" && information.isAppSupported == true)
        #expect(information.managementType == "managed" && information.isSharedDevice == nil)

        let device = await withCheckedContinuation { done in
            information.refreshDeviceCompromisedStatus { isJailbroken, evaluationToken, identifier in
                done.resume(returning: isJailbroken || evaluationToken != nil ? nil : identifier)
            }
        }
        #expect(device == "\(bench.collector.device)")
        let isCompromised = await BlockingCall.run { information.isCurrentDeviceCompromised() }
        #expect(!isCompromised)

        #expect(await Self.assignment(information) == .notApplicable)
        bench.collector.setAssignments(["com.example.other"])
        #expect(await Self.assignment(information) == .notAssigned)
        bench.collector.setAssignments(["com.example.kiosk"])
        #expect(await Self.assignment(information) == .assigned)
        bench.collector.setFaults { _, _ in .requestLost }
        #expect(await Self.assignment(information) == .unknown)
        bench.collector.setFaults { _, _ in nil }
        await bench.stop()
    }

    private static func assignment(_ information: DeviceInformationController) async -> ApplicationAssignmentStatus {
        await withCheckedContinuation { done in
            information.fetchApplicationAssignmentStatus { status, _ in done.resume(returning: status) }
        }
    }

    @Test(arguments: [true, false]) func `Do-not-disturb is set at the collector if it is allowed`(
        isAllowed: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        var profile = WireProfile.analyticsOn
        profile.doNotDisturbAllowed = isAllowed
        let bench = SDKBench(directory.path, profile: profile)
        try await bench.start()
        let status = AWDeviceDNDStatus(engine: bench.engine)
        let failure = await SDKBench.failure { status.setDeviceDNDStatus(true, completion: $0) }
        #expect(failure == (isAllowed ? nil : .missingExpectedRequirements))
        let isOn: Bool? = await withCheckedContinuation { done in
            status.fetchDeviceDNDStatus { isOn, _ in done.resume(returning: isOn) }
        }
        #expect(isOn == isAllowed)
        await bench.stop()
    }

    @Test func `The four parameters of sampling are checked, kept for the start, and changed at run time`() async throws
    {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        let sampler = AWDataSampler(engine: bench.engine)
        #expect(throws: NSError.self) {
            try sampler.configure(
                sampleModules: AWDataSamplerModuleGPS, defaultSampleInterval: 0, defaultTransmitInterval: 300,
                traceLevel: .off)
        }
        #expect(throws: NSError.self) {
            try sampler.configure(
                sampleModules: [], defaultSampleInterval: .nan, defaultTransmitInterval: 300, traceLevel: .off)
        }
        for modules in [
            AWDataSamplerModuleNetworkData, [AWDataSamplerModuleSystem, AWDataSamplerModuleNetworkData],
            AWDataSamplerModuleGPS,
        ] {
            let failure = Mutex<AWSDKError?>(nil)
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                do {
                    try sampler.configure(
                        sampleModules: modules, defaultSampleInterval: 60, defaultTransmitInterval: 300,
                        traceLevel: .off
                    ) { _, error in
                        failure.withLock { $0 = error.flatMap { AWSDKError($0) } }
                        done.resume()
                    }
                } catch { done.resume(throwing: error) }
            }
            #expect(failure.withLock { $0 } == nil)
            #expect(bench.engine.configuration?.sampleModules == modules)
            if bench.delegate.reported.isEmpty { try await bench.start() }
        }
        await bench.stop()
    }
}
