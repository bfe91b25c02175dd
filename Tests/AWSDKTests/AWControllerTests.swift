@testable import DataSampler
import Foundation
import Logging
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import AWSDK

/// Start, initial check, profile, stop and the container.
@Suite(.timeLimit(.minutes(10))) struct AWControllerTests {
    @Test func `The initial check passes once there is a profile, and all is known then`() async throws {
        let directory = try TemporaryDirectory()
        var profile = WireProfile.analyticsOn
        profile.customPayload = "{\"color\":\"blue\"}"
        let bench = SDKBench(directory.path, profile: profile)
        #expect(bench.controller.sdkProfile() == nil)
        try await bench.start()
        #expect(bench.delegate.reported.last == "check passed")
        #expect(bench.delegate.reported.contains("profile [\(profile.revision)]"))
        #expect(bench.delegate.reported.contains("enrolled"))
        #expect(bench.controller.sdkProfile()?.customPayload?.settings == "{\"color\":\"blue\"}")
        #expect(
            bench.controller.enrollmentInfo == EnrollmentInfo(organizationGroup: "default", hostName: "collector.test"))
        await bench.stop()
        #expect(bench.controller.sdkProfile() == nil)
    }

    @Test func `Without a collector the check says so, and it passes when the profile arrives`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path, checkLimit: .milliseconds(1))
        bench.collector.setFaults { _, _ in .requestLost }
        try await bench.start()
        #expect(bench.delegate.reported.last == "check 32")
        bench.collector.setFaults { _, _ in nil }
        try await bench.delegate.until { $0.contains("check passed") }
        await bench.stop()
    }

    @Test func `A start without what it requires says what is missing, and can be repeated`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(nil)
        try await bench.start()
        #expect(bench.delegate.reported == ["check 27"])

        let whole = SDKBench(directory.path).engine.configuration
        bench.engine.configuration = whole
        bench.engine.configuration?.applicationIdentifier = ""
        bench.controller.start()
        try await bench.delegate.until { $0.count == 2 }
        bench.engine.configuration = whole
        bench.engine.configuration?.collectorURL = "nowhere"
        bench.controller.start()
        try await bench.delegate.until { $0.count == 3 }
        #expect(bench.delegate.reported == ["check 27", "check 7", "check 39"])

        bench.engine.configuration = whole
        bench.controller.start()
        try await bench.delegate.until { $0.last == "check passed" }
        await bench.stop()
    }

    @Test func `A device that is not enrolled and has no token says so`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path, checkLimit: .milliseconds(1))
        bench.engine.configuration?.enrollmentToken = nil
        try await bench.start()
        #expect(bench.delegate.reported.last == "check 22")
        await bench.stop()
    }

    private static let obstacles: [(LoopbackCollector.Fault, String)] = [
        (.failed(TransportError(.pinMismatch, "another key")), "check 8"),
        (
            .answered(TransportResponse(status: 200, headers: ["server": "portal"], body: Data("hello".utf8))),
            "check 28"
        ),
        (.failed(TransportError(.connectionRefused, "nobody listens")), "check 32"),
    ]

    @Test(arguments: obstacles) func `Who answers instead of the collector is reported by its number`(
        fault: LoopbackCollector.Fault, reported: String
    ) async throws {
        let directory = try TemporaryDirectory()
        // The device is asked again until it knows who answers.
        let bench = SDKBench(directory.path, checkLimit: .seconds(2))
        bench.collector.setFaults { _, _ in fault }
        try await bench.start()
        #expect(bench.delegate.reported.last == reported)
        await bench.stop()
    }

    private struct Found: CompromiseDetector {
        let name = "tracer-attached"
        func examine() -> CompromiseFinding? { CompromiseFinding(.yes, evidence: "a test") }
    }

    @Test func `A device that is compromised and blocked does not pass the check`() async throws {
        let directory = try TemporaryDirectory()
        var profile = WireProfile.analyticsOn
        profile.detection.consequence = "block"
        let bench = SDKBench(directory.path, profile: profile, detectors: [Found()])
        try await bench.start()
        try await bench.delegate.until {
            $0.contains("check 15") && $0.contains("locked")
        }
        await bench.stop()
    }

    @Test(arguments: [true, false]) func `An application that is not assigned is reported of after the check`(
        isAssigned: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        bench.collector.setAssignments(isAssigned ? ["com.example.kiosk"] : ["com.example.other"])
        try await bench.start()
        #expect(bench.delegate.reported.contains("check passed"))
        if !isAssigned { try await bench.delegate.until { $0.last == "check 24" } }
        await bench.stop()
        #expect(bench.delegate.reported.contains("check 24") == !isAssigned)
    }

    @Test func `A stop and a start right after it both take effect, and a second start does nothing`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        bench.controller.start()
        bench.controller.stop()
        bench.controller.start()
        try await bench.delegate.until { $0.filter { $0 == "check passed" }.count == 2 }
        await bench.stop()
        #expect(bench.delegate.reported.filter { $0.hasPrefix("check") }.count == 2)
    }

    @Test func `A stop ends a check that lasts`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path, profile: nil)
        bench.controller.start()
        await bench.stop()
        try await bench.delegate.until { $0.contains("check 1") }
    }

    @Test func `Calls before the start fail, and say so`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        #expect(await SDKBench.failure { bench.controller.loadCommands(completion: $0) } == .missingRequiredInformation)
        let isCompromised = await BlockingCall.run {
            DeviceInformationController(engine: bench.engine).isCurrentDeviceCompromised()
        }
        #expect(!isCompromised)
    }

    @Test func `Notices of the library become calls of the delegate, and two reasons to lock are one lock`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        // It never starts; the notices are the test's.
        let sampler = try DataSampler(
            configuration: try #require(bench.engine.configuration), logger: Logger(label: "test"))
        let notices: [DataSamplerNotice] = [
            DataSamplerNotice(.networkStopped, "", ["reason": "roaming"]),
            DataSamplerNotice(.networkStopped, "", ["reason": "proxy"]), DataSamplerNotice(.networkResumed, ""),
            DataSamplerNotice(.reachable, ""), DataSamplerNotice(.offlineTimeExceeded, ""),
            DataSamplerNotice(.blocked, ""), DataSamplerNotice(.reachable, ""), DataSamplerNotice(.unblocked, ""),
            DataSamplerNotice(.slowdown, ""), DataSamplerNotice(.userChanged, ""), DataSamplerNotice(.wiped, ""),
        ]
        for notice in notices { await bench.engine.dataSampler(sampler, noticed: notice) }
        try await bench.delegate.until { $0.last == "wiped" }
        #expect(
            bench.delegate.reported == [
                "stop roaming", "stop proxyFailed", "resume", "locked", "unlocked", "user changed", "wiped",
            ])
    }

    @Test func `A delegate of 18.5 hears by its own names`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        let former = FormerDelegate()
        bench.engine.delegate = former
        let sampler = try DataSampler(
            configuration: try #require(bench.engine.configuration), logger: Logger(label: "test"))
        for notice in [
            DataSamplerNotice(.networkStopped, "", ["reason": "roaming"]), DataSamplerNotice(.networkResumed, ""),
            DataSamplerNotice(.userChanged, ""), DataSamplerNotice(.wiped, ""),
        ] { await bench.engine.dataSampler(sampler, noticed: notice) }
        try await former.until { $0.last == "wipe" }
        #expect(former.reported == ["stop roaming", "resume", "user changed", "wipe"])
        bench.controller.start()
        try await former.until { $0.contains("check passed") }
        #expect(former.reported.contains("profiles 1") && former.reported.contains("enrolled"))
        await bench.stop()
    }

    @Test func `The documented start compiles, and no URL is the SDK's`() throws {
        let controller = SDKBench(nil).controller
        controller.callbackScheme = "kiosk"
        controller.teamID = "ABCDE12345"
        #expect(controller.callbackScheme == "kiosk" && controller.teamID == "ABCDE12345")
        let url = try #require(URL(string: "kiosk://return"))
        #expect(!controller.handleOpenURL(url, fromApplication: "com.example.other"))
        #expect(!controller.handleOpenURL(url, fromApplication: nil))
    }

    @Test func `The shared objects have their documented names, and those of 18.5`() {
        #expect(AnalyticsHelper.sharedInstance === AnalyticsHandler.sharedInstance)
        #expect(DeviceInformationController.sharedController() === DeviceInformationController.sharedController)
        #expect(SDKBeaconTransmitter.sharedTransmitter() === SDKBeaconTransmitter.sharedTransmitter)
    }

    @Test func `Destroying the container erases logs, keeps the enrollment and goes on`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        bench.engine.logs.log(.error, "the door is stuck")
        #expect(try await Self.lines(bench).contains("the door is stuck"))
        let cleaner = WS1SDKContainerCleaner(engine: bench.engine)
        #expect(await SDKBench.failure { cleaner.destroyContainerData(completion: $0) } == nil)
        let reported = bench.delegate.reported
        #expect(reported.filter { $0 == "check passed" }.count == 2)
        #expect(
            try #require(reported.firstIndex(of: "refresh")) < (try #require(reported.lastIndex(of: "check passed"))))
        try await bench.delegate.until { $0.contains("wiped") }
        #expect(try await !Self.lines(bench).contains("the door is stuck"))
        #expect(bench.collector.enrollments == 1)
        #expect(
            await SDKBench.failure {
                SDKBeaconTransmitter(engine: bench.engine).sendDeviceStatusBeacon(completion: $0)
            } == nil)
        await bench.stop()
    }

    @Test func `Destroying the container of a stopped SDK erases it, and leaves it stopped`() async throws {
        let directory = try TemporaryDirectory()
        let bench = SDKBench(directory.path)
        try await bench.start()
        bench.engine.logs.log(.error, "the door is stuck")
        await bench.stop()
        let cleaner = WS1SDKContainerCleaner(engine: bench.engine)
        #expect(await SDKBench.failure { cleaner.destroyContainerData(completion: $0) } == nil)
        try await bench.delegate.until { $0.contains("wiped") }
        #expect(!bench.delegate.reported.contains("refresh"))
        #expect(
            await SDKBench.failure { bench.controller.loadCommands(completion: $0) } == .missingRequiredInformation)
        #expect(try await !Self.lines(bench).contains("the door is stuck"))
        // The device is the same one afterwards.
        try await bench.start()
        #expect(bench.collector.enrollments == 1)
        await bench.stop()

        let unset = SDKBench(nil)
        #expect(
            await SDKBench.failure {
                WS1SDKContainerCleaner(engine: unset.engine).destroyContainerData(completion: $0)
            } == .missingRequiredInformation)
    }

    private static func lines(_ bench: SDKBench) async throws -> String {
        try WS1SDKDataProvider(engine: bench.engine).fetchSDKLogChunks()
            .map { String(decoding: $0.data, as: UTF8.self) }.joined()
    }
}
