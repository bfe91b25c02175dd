import DeviceTestKit
import Foundation
import LogStore
import Logging
import StoreTestKit
import Synchronization
import TestKit
import Testing
import Transmitter
import WipeCertificates
import WireModel

@testable import DataSampler
@testable import RecordQueue

/// A wipe that ends the enrollment, what an unenrollment leaves on disk, and what the host program does in between.
@Suite(.timeLimit(.minutes(10))) struct EnterpriseWipeTests {
    private static let payload = "payload-that-nobody-may-find"
    private static let scrubValue = "scrub-value-that-nobody-may-find"
    private static let scrubPattern = "scrub-pattern-that-nobody-may-find"
    private static let privacyKey = Data("privacy-key-that-nobody-may-find".utf8)

    private static var profile: WireProfile {
        var profile = WireProfile.analyticsOn
        profile.customPayload = payload
        profile.logging.scrubValues = [scrubValue]
        profile.logging.scrubPatterns = [scrubPattern]
        profile.privacyKey = privacyKey
        return profile
    }

    private let bench = SamplerBench(profile: profile)

    // MARK: What is on disk

    /// The forms in which text may lie in a file: as it is, and as base64 of bytes that contain it.
    private static func forms(_ text: String) -> [Data] {
        [Data(text.utf8)]
            + (0..<3).map { offset in
                let bytes = Data(repeating: 0, count: offset) + Data(text.utf8)
                let whole = bytes.base64EncodedString().prefix(bytes.count / 3 * 4)
                // The first characters also encode bytes before the text.
                return Data(whole.dropFirst(offset == 0 ? 0 : offset + 1).utf8)
            }
    }

    private static func files(_ directory: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory).filter { name in
            var isDirectory = ObjCBool(false)
            _ = FileManager.default.fileExists(atPath: "\(directory)/\(name)", isDirectory: &isDirectory)
            return !isDirectory.boolValue
        }.sorted()
    }

    /// The files in which a text is found, and the text.
    private func findings(_ directory: String, _ texts: [String]) throws -> [String] {
        try Self.files(directory).flatMap { name in
            let bytes = try Data(contentsOf: URL(filePath: "\(directory)/\(name)"))
            return texts.filter { text in Self.forms(text).contains { bytes.range(of: $0) != nil } }
                .map { "\(name): \($0)" }
        }
    }

    private var credential: String { bench.collector.credential }
    private var profileTexts: [String] {
        [Self.payload, Self.scrubValue, Self.scrubPattern, String(decoding: Self.privacyKey, as: UTF8.self)]
    }

    /// The table of `Documentation/disk-formats.md`.
    private static let staying: Set<String> = [
        "lock", "control.sock", "queue.sqlite", "queue.sqlite-wal", "queue.epoch", "identity", "collector.json",
        "commands.json",
        "log-requests.json", "log-uploads.json", "consent.json", "budget.json", "offline.json", "binary", "analytics",
    ]

    private func expectNothingLeft(_ directory: String) throws {
        #expect(try findings(directory, [credential] + profileTexts) == [])
        let others = try Self.files(directory).filter {
            !Self.staying.contains($0) && !$0.hasPrefix("logs/")
        }
        #expect(others == [])
        for file in [WipeNote.fileName, LeaveNote.fileName] { #expect(!exists(directory, file)) }
    }

    private func exists(_ directory: String, _ name: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directory)/\(name)")
    }

    // MARK: Support

    private func command(_ sampler: DataSampler) throws -> WireCommand {
        var command = WireCommand()
        command.id = Data(repeating: 9, count: 16)
        command.expires = 3_600_000_000
        command.enrollmentID = try #require(try sampler.running().core.identity.load()).enrollmentID
        command.enterpriseWipe.reason = "lost"
        return command
    }

    /// Starts a sampler that has its profile, and records that wait.
    private func start(
        _ directory: String, change: (inout DataSamplerConfiguration) -> Void = { _ in }
    ) async throws -> DataSampler {
        let sampler = try bench.sampler(directory) {
            $0.eventHold = 7200
            change(&$0)
        }
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.recordEvent(eventName: "secret.event", eventValue: .integer(1), durability: .durable)
        try await sampler.sendBeacon()
        return sampler
    }

    private func waitUntilLeft(_ sampler: DataSampler, _ directory: String) async throws {
        let core = try sampler.running().core
        try await SamplerBench.until { core.gate.isUnenrolled && !core.gate.isLeaving && !core.gate.isWiping }
    }

    // MARK: Tests

    @Test func `An enterprise wipe destroys the keys, and nothing is encrypted afterwards`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await start(directory.path)
        let sealed = try sampler.encrypt(Data("secret".utf8))
        #expect(try sampler.decrypt(sealed) == Data("secret".utf8))
        #expect(exists(directory.path, "keys") && exists(directory.path, "device.key"))
        bench.collector.setNews(revision: 1, commands: [try command(sampler)])
        try await sampler.sendBeacon()
        try await waitUntilLeft(sampler, directory.path)
        #expect(!exists(directory.path, "keys") && !exists(directory.path, "device.key"))
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                _ = try sampler.encrypt(Data("secret".utf8))
            } == .unenrolled)
        await sampler.stop()
    }

    @Test func `An enterprise wipe erases everything, reports its end, and the device leaves for good`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await start(directory.path)
        #expect(try findings(directory.path, [credential]).isEmpty == false, "the search finds what is there")
        #expect(try Set(findings(directory.path, profileTexts).map { String($0.prefix(12)) }) == ["profile.json"])
        #expect(try findings(directory.path, profileTexts).count == profileTexts.count)
        let former = try sampler.running().core.queue.epoch
        bench.collector.setNews(revision: 1, commands: [try command(sampler)])
        try await sampler.sendBeacon()
        try await waitUntilLeft(sampler, directory.path)
        try expectNothingLeft(directory.path)
        #expect(try await sampler.status().enrollment.reason?.contains("was unenrolled") == true)
        try await SamplerBench.until { try await sampler.profile() == nil }
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await sampler.recordEvent(eventName: "late", eventValue: .integer(1))
            } == .unenrolled)
        await sampler.stop()

        let done = try await bench.results().filter { $0.result.state == .done }
        #expect(done.count == 1 && done.allSatisfy { $0.epoch != former })
        let beacons = try await bench.beacons()
        let newest = beacons.max { $0.beaconSequence < $1.beaconSequence }
        #expect(beacons.contains { $0.enrollment == .wipePending } && newest?.trigger == .unenroll)
        #expect(try await bench.events().isEmpty)
        try expectNothingLeft(directory.path)
        let again = try bench.sampler(directory.path)
        try await again.start()
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await again.sendBeacon() } == .unenrolled
        )
        await again.stop()
        #expect(bench.collector.enrollments == 1, "only another token brings it back")
    }

    /// Where the program ends.
    enum Step: CaseIterable, Sendable {
        case whileTheHostErases
        case beforeTheEndIsNoted
        case beforeTheResultIsSent
        case beforeTheEpochIsClosed
        case beforeTheCollectorIsNotified
        case beforeTheAnswerIsThere
        case beforeTheRestIsErased
    }

    @Test(arguments: Step.allCases)
    func `An enterprise wipe that ends with the program at any step is gone on with by the next start`(_ step: Step)
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let calls = Atomic<Int>(0)
        let unenrolls = Atomic<Int>(0)
        let collector = bench.collector
        let obstacle =
            switch step {
            case .beforeTheEndIsNoted: "\(path)/\(CommandLedger.fileName).new"
            case .beforeTheRestIsErased: "\(path)/\(PinKeeper.fileName)"
            default: ""
            }
        let first = try await start(path) { configuration in
            configuration.eraseHostData = { wipe in
                calls.add(1, ordering: .relaxed)
                #expect(wipe == DataSamplerWipe(reason: "lost", endsEnrollment: true))
                if step == .whileTheHostErases {
                    // Until the call is cancelled.
                    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
                    for await _ in stream {}
                    continuation.finish()
                }
                if !obstacle.isEmpty {
                    try? FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
                }
                let unavailable = TransportResponse(
                    status: 503,
                    headers: TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID),
                    body: Data())
                collector.setFaults { request, _ in
                    switch (step, request.path) {
                    case (.beforeTheResultIsSent, WireNames.batchesPath): return .requestLost
                    case (.beforeTheEpochIsClosed, WireNames.closePath): return .answered(unavailable)
                    case (.beforeTheCollectorIsNotified, WireNames.unenrollPath): return .answered(unavailable)
                    case (.beforeTheAnswerIsThere, WireNames.unenrollPath):
                        unenrolls.add(1, ordering: .relaxed)
                        return .answerLost
                    default: return nil
                    }
                }
            }
        }
        collector.setNews(revision: 1, commands: [try command(first)])
        try await first.sendBeacon()
        func record() throws -> LeaveNote? { try LeaveNote.file(in: path).load() }
        switch step {
        case .whileTheHostErases: try await SamplerBench.until { calls.load(ordering: .relaxed) == 1 }
        case .beforeTheEndIsNoted: try await SamplerBench.until { try await first.status().commandFailure != nil }
        case .beforeTheResultIsSent: try await SamplerBench.until { try record()?.beaconRecorded == true }
        case .beforeTheEpochIsClosed, .beforeTheCollectorIsNotified:
            try await SamplerBench.until { try record()?.epochEnded == true }
        case .beforeTheAnswerIsThere: try await SamplerBench.until { unenrolls.load(ordering: .relaxed) >= 1 }
        case .beforeTheRestIsErased:
            try await SamplerBench.until {
                guard case .unenrolled? = try IdentityFile(directory: path).load() else { return false }
                return true
            }
        }
        await first.stop()
        let isRecorded = exists(path, WipeNote.fileName) || exists(path, LeaveNote.fileName)
        #expect(isRecorded, "it is not over")
        if step != .whileTheHostErases {
            #expect(try findings(path, profileTexts) == [], "data and profile go first")
        }
        if !obstacle.isEmpty { try FileManager.default.removeItem(atPath: obstacle) }
        collector.setFaults { _, _ in nil }

        let second = try bench.sampler(path) { $0.eraseHostData = { _ in calls.add(1, ordering: .relaxed) } }
        try await second.start()
        try await waitUntilLeft(second, path)
        try expectNothingLeft(path)
        await second.stop()
        #expect(calls.load(ordering: .relaxed) == (step == .whileTheHostErases ? 2 : 1))
        #expect(try await bench.results().contains { $0.result.state == .done })
        #expect(try await bench.beacons().contains { $0.trigger == .unenroll })
        #expect(try await bench.events().isEmpty && collector.enrollments == 1)
    }

    @Test func `Where nobody answers, the credential alone stays, until the time is over`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let collector = bench.collector
        let first = try await start(path) { configuration in
            configuration.eraseHostData = { _ in collector.setFaults { _, _ in .requestLost } }
        }
        let core = try first.running().core
        let wipes = try first.running().parts.wipes
        try await wipes.wipe(command: nil, reason: "test", endsEnrollment: true)
        try await wipes.wasReported()
        try await SamplerBench.until { try LeaveNote.file(in: path).load()?.beaconRecorded == true }
        #expect(try findings(path, profileTexts) == [])
        #expect(try core.identity.load() != nil)
        let deadline = try #require(try LeaveNote.file(in: path).load()?.deadline)
        #expect(deadline <= core.queueTime + LeaveNote.greatestWait)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await first.reloadProfile() }
                == .collector)
        await first.stop()

        var note = try #require(try LeaveNote.file(in: path).load())
        note.deadline = 0
        try LeaveNote.file(in: path).save(note)
        let second = try bench.sampler(path)
        try await second.start()
        try await waitUntilLeft(second, path)
        try expectNothingLeft(path)
        await second.stop()
    }

    @Test(arguments: [401, 403])
    func `Unenrolling ends where the collector has deleted or revoked the device, and leaves nothing`(_ status: Int)
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let sampler = try await start(path)
        let enrollments = Atomic<Int>(0)
        let refusal = TransportResponse(
            status: status,
            headers: TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID),
            body: Data())
        bench.collector.setFaults { request, _ in
            guard request.path == WireNames.enrollPath else { return .answered(refusal) }
            let note = (try? LeaveNote.file(in: path).load()) ?? nil
            if note?.beaconRecorded == true { enrollments.add(1, ordering: .relaxed) }
            return .requestLost
        }
        _ = try await sampler.unenroll()
        try await waitUntilLeft(sampler, path)
        await sampler.stop()
        #expect(enrollments.load(ordering: .relaxed) == 0, "it does not enroll again to leave")
        try expectNothingLeft(directory.path)
    }

    @Test func `Unenrolling leaves neither profile nor credential, nor damaged files that hold one`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await start(directory.path)
        for name in ["identity.damaged", "identity.new", "profile.json.damaged", "profile.json.new"] {
            try Data("\(credential) \(Self.payload)".utf8).write(to: URL(filePath: "\(directory.path)/\(name)"))
        }
        let kept = "\(directory.path)/queue.corrupt-1-20260101T000000Z"
        try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
        try Data(credential.utf8).write(to: URL(filePath: "\(kept)/queue.sqlite"))
        _ = try await sampler.unenroll()
        try await waitUntilLeft(sampler, directory.path)
        await sampler.stop()
        try expectNothingLeft(directory.path)
        #expect(!FileManager.default.fileExists(atPath: kept))
    }

    @Test func `Unenrolling with a wipe erases what waits and the logs, too`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await start(directory.path)
        let core = try sampler.running().core
        let former = core.queue.epoch
        let line = "line-that-nobody-may-find"
        let logs = try sampler.logs()
        logs.error(line)
        logs.flush()
        #expect(try findings(directory.path, [line]).isEmpty == false, "the search finds what is there")
        let certificate = try await sampler.unenrollCertified(reason: "sold").certificate
        let signed = try SignedWipeCertificate(text: try #require(certificate.document, "\(certificate.remark ?? "")"))
        #expect(signed.certificate.kind == .enterprise && signed.certificate.command == nil)
        try await waitUntilLeft(sampler, directory.path)
        #expect(core.queue.epoch != former)
        await sampler.stop()
        try expectNothingLeft(directory.path)
        #expect(try findings(directory.path, [line]) == [])
        #expect(try await bench.beacons().contains { $0.enrollment == .wipePending })
        #expect(try await bench.events().isEmpty)
    }

    @Test func `A wipe erases what was kept of damaged files`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await SamplerCore.open(
            SamplerBench.configuration(directory.path), environment: SamplerBench.environment(bench.collector),
            logger: Logger(label: "test"))
        let path = "\(directory.path)/\(LogRequestLedger.fileName).damaged"
        try Data("a filter's text".utf8).write(to: URL(filePath: path))
        try core.eraseKeptState()
        #expect(!FileManager.default.fileExists(atPath: path))
        await core.close()
    }

    @Test func `A host that does not come to an end holds a wipe for thirty seconds and no longer`() async throws {
        let directory = try TemporaryDirectory()
        let sleeper = ManualSleeper()
        let release = AsyncStream<Void>.makeStream()
        var configuration = SamplerBench.configuration(directory.path)
        configuration.eraseHostData = { _ in
            // Deaf to cancellation.
            await Task { for await _ in release.stream {} }.value
        }
        let core = try await SamplerCore.open(
            configuration, environment: SamplerBench.environment(bench.collector), logger: Logger(label: "test"))
        let epoch = core.queue.epoch
        let wipes = WipeKeeper(core: core, events: DeviceEvents(), sleeper: sleeper) { _ in }
        try await wipes.begin(command: nil, reason: "test")
        async let erased: Void = wipes.erase()
        await sleeper.waitForSleeper()
        #expect(sleeper.nextWake == .seconds(30) && core.queue.epoch == epoch)
        #expect(await wipes.pending?.isHostErased == nil)
        sleeper.advance(by: .seconds(30))
        try await erased
        #expect(core.queue.epoch != epoch)
        #expect(await wipes.pending?.isHostErased == true)
        release.continuation.finish()
        try await wipes.finish()
        await core.close()
    }

    @Test func `An enterprise wipe overrules clearing data under way, and not the other way round`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await SamplerCore.open(
            SamplerBench.configuration(directory.path), environment: SamplerBench.environment(bench.collector),
            logger: Logger(label: "test"))
        let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
        try await wipes.begin(command: nil, reason: "clear")
        #expect(await wipes.pending?.leaveBy == nil)
        try await wipes.begin(command: nil, reason: "leave", endsEnrollment: true)
        let leaveBy = try #require(await wipes.pending?.leaveBy)
        try await wipes.begin(command: Data(repeating: 1, count: 16), reason: "clear")
        #expect(await wipes.pending?.leaveBy == leaveBy)
        await core.close()
    }

    @Test func `While an enrollment ends, what protects its last records stays in force`() {
        var profile = Self.profile
        profile.certificatePins = [Data(repeating: 1, count: 32)]
        profile.certificateAuthorities = [Data([1])]
        profile.privacy["user"] = .drop
        profile.telemetryDisabled = true
        let kept = profile.protection
        #expect(kept.certificatePins == profile.certificatePins && kept.privacy == profile.privacy)
        #expect(kept.certificateAuthorities == profile.certificateAuthorities)
        #expect(kept.revision == profile.revision && kept.telemetryDisabled)
        #expect(!kept.hasCustomPayload && !kept.hasLogging && kept.privacyKey.isEmpty)
    }
}
