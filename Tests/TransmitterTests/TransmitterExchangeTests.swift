import DeviceTestKit
import Foundation
import RecordQueue
import StoreTestKit
import Synchronization
import Testing
import WireModel
@testable import Transmitter

/// Requests of others, what is reported, gates, and who the device is.
@Suite struct TransmitterExchangeTests {
    let bench = TransmitterBench()

    private var headers: [String: String] {
        TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
    }

    private func answer(_ path: String, _ responses: [TransportResponse]) {
        let left = Mutex(responses)
        bench.collector.setFaults { request, _ in
            guard request.path == path else { return nil }
            return left.withLock { $0.isEmpty ? nil : .answered($0.removeFirst()) }
        }
    }

    // MARK: Requests

    @Test func `A request enrolls first, and its answer is given with its tag`() async throws {
        let asked = Mutex([TransportRequest]())
        let headers = headers
        bench.collector.setFaults { request, _ in
            guard request.path == WireNames.profilePath else { return nil }
            asked.withLock { $0.append(request) }
            let response = TransportResponse(
                status: 200, headers: headers.merging(["etag": "\"7\""]) { $1 }, body: Data("profile".utf8))
            return .answered(response)
        }
        try await bench.run { _, transmitter in
            let answer = await transmitter.request(.get, WireNames.profilePath, headers: [("If-None-Match", "\"6\"")])
            #expect(answer == .success(Data("profile".utf8), etag: "\"7\""))
            let request = try #require(asked.withLock { $0.first })
            #expect(request.headers.contains { $0.name == "If-None-Match" && $0.value == "\"6\"" })
            #expect(request.headers.contains { $0.name == "Authorization" && $0.value == "Bearer device-credential" })
            #expect(request.body == nil)
            #expect(bench.collector.enrollments == 1)
        }
    }

    @Test func `What compresses too far is sent as it is`() async throws {
        let asked = Mutex([TransportRequest]())
        let headers = headers
        bench.collector.setFaults { request, _ in
            guard request.path == WireNames.closePath else { return nil }
            let isFirst = asked.withLock { asked in
                asked.append(request)
                return asked.count == 1
            }
            guard isFirst else { return .answered(TransportResponse(status: 200, headers: headers)) }
            let problem =
                #"""
                {"type":"about:blank","title":"t","status":413,"code":"inflate-ratio","retryable":false,\#
                "scope":"stream"}
                """#
            return .answered(
                TransportResponse(
                    status: 413, headers: headers.merging(["content-type": WireNames.problem]) { $1 },
                    body: Data(problem.utf8)))
        }
        try await bench.run { _, transmitter in
            let message = Data(repeating: 7, count: 100_000)
            guard case .success = await transmitter.request(.post, WireNames.closePath, body: .message(message)) else {
                Issue.record("it was not sent again")
                return
            }
            let requests = asked.withLock { $0 }
            #expect(requests.count == 2 && requests.last?.body == message)
            #expect(requests.map { $0.headers.contains { $0.name == "Content-Encoding" } } == [true, false])
        }
    }

    @Test(arguments: [(304, CollectorAnswer.notModified), (204, .empty)])
    func `Answers without a body have their meaning`(status: Int, expected: CollectorAnswer) async throws {
        answer(WireNames.profilePath, [TransportResponse(status: status, headers: headers)])
        try await bench.run { _, transmitter in
            #expect(await transmitter.request(.get, WireNames.profilePath) == expected)
        }
    }

    @Test func `A refused credential is renewed once for a request`() async throws {
        let refused = TransportResponse(status: 401, headers: headers)
        answer(WireNames.commandsPath, [refused, TransportResponse(status: 200, headers: headers), refused, refused])
        try await bench.run { _, transmitter in
            guard case .success = await transmitter.request(.get, WireNames.commandsPath) else {
                Issue.record("not renewed"); return
            }
            #expect(bench.collector.enrollments == 2)
            guard case .credentialRefused = await transmitter.request(.get, WireNames.commandsPath) else {
                Issue.record("renewed for ever"); return
            }
        }
    }

    @Test func `News that was asked for is heard as the answers to batches are`() async throws {
        var command = WireCommand()
        command.id = Data(repeating: 1, count: 16)
        bench.collector.setNews(revision: 7, commands: [command], serverTime: 1_800_000_000_000_000)
        // Gates hold records back, not this.
        bench.conditions.set { $0.metered = true }
        var rule = WireTransmissionRule()
        (rule.data, rule.metered) = ("event", false)
        var settings = TransmitterSettings(eventHold: .zero)
        settings.rules = [rule]
        try await bench.run(settings: settings) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            _ = await transmitter.request(.get, WireNames.profilePath)
            _ = await transmitter.pass()
            #expect(bench.collector.batches == 0 && bench.events.news.isEmpty)
            await transmitter.askForNews()
            let news = try #require(bench.events.news.first)
            #expect(bench.events.news.count == 1)
            #expect(
                news.newestProfileRevision == 7 && news.commands == [command]
                    && news.serverTime == 1_800_000_000_000_000)
            #expect(news.enrollmentID.count == 16)
            #expect(transmitter.status.newestProfileRevision == 7 && transmitter.status.clockOffset != nil)
            // A collector that says no time, of an earlier version: the device's own counts.
            bench.collector.setNews(revision: 7, commands: [command])
            await transmitter.askForNews()
            #expect(bench.events.news.last?.serverTime == bench.clock.now().wallTime)
        }
    }

    @Test func `Without a token, a request says that the device is not enrolled`() async throws {
        try await bench.run(enrollments: InMemoryEnrollmentStore(token: nil)) { _, transmitter in
            guard case .notEnrolled(let why) = await transmitter.request(.get, WireNames.profilePath) else {
                Issue.record("asked"); return
            }
            #expect(why.contains("token"))
        }
    }

    @Test func `A 403 is forbidden and never enrolls again`() async throws {
        try await bench.run { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            answer(
                WireNames.batchesPath, Array(repeating: TransportResponse(status: 403, headers: headers), count: 100))
            try await bench.enqueue(1, to: queue)
            for _ in 0..<10 {
                guard case .paused = await transmitter.pass() else { Issue.record("went on"); return }
            }
            #expect(transmitter.status.state == .holding)
            #expect(bench.collector.enrollments == 1)
            let reported = bench.events.all.filter { if case .forbidden = $0 { true } else { false } }
            #expect(reported.count == 1)
            #expect(
                transmitter.status.reason?.contains("HTTP 403") == true
                    && transmitter.status.reason?.contains("reinstate") == true)
            #expect(transmitter.status.unreachableSince == nil && transmitter.status.reached == true)
        }
    }

    // MARK: News and changes

    @Test func `What comes with an answer reaches the delegate with the enrollment it belongs to`() async throws {
        var command = WireCommand()
        command.id = DeviceID.random().data
        bench.collector.setNews(revision: 12, commands: [command], serverTime: bench.clock.now().wallTime + 90_000_000)
        var settings = TransmitterSettings(eventHold: .zero)
        settings.profileRevision = 11
        let revisions = Mutex([UInt64]())
        bench.collector.setFaults { _, batch in
            if let batch { revisions.withLock { $0.append(batch.profileRevision) } }
            return nil
        }
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments, settings: settings) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            let news = try #require(bench.events.news.first)
            #expect(news.newestProfileRevision == 12)
            #expect(news.commands == [command])
            #expect(news.enrollmentID.count == 16)
            #expect(news.enrollmentID == enrollments.load()?.enrollmentID)
            #expect(revisions.withLock { $0 } == [11])
            #expect(transmitter.status.clockOffset == 90_000_000, "noted, and nothing was refused for it")
            bench.collector.setNews(revision: 12, commands: [], serverTime: .max)
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(transmitter.status.clockOffset == 90_000_000, "no clock shows such a time")
        }
    }

    @Test func `Since when nobody answers is reported once and ends with the first answer`() async throws {
        try await bench.run { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            bench.collector.setFaults { _, _ in .requestLost }
            try await bench.enqueue(1, to: queue)
            let since = bench.clock.now()
            for _ in 0..<5 {
                _ = await transmitter.pass()
                bench.clock.advance(by: .seconds(600))
            }
            #expect(transmitter.status.unreachableSince == since.wallTime)
            bench.collector.setFaults { _, _ in nil }
            #expect(await transmitter.pass() == .finished)
            #expect(transmitter.status.unreachableSince == nil)
            let changes = bench.events.all.filter {
                switch $0 {
                case .reached, .unreachable: true
                default: false
                }
            }
            #expect(changes == [.reached, .unreachable(since: since, why: "lost on the way"), .reached])
        }
    }

    @Test func `A collector restored from a backup is recorded, and nothing else changes`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            let former = bench.collector.incarnationID
            bench.collector.reincarnate()
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(
                bench.events.all.contains(.collectorRestored(former: former, now: bench.collector.incarnationID)))
            #expect(enrollments.load()?.incarnationID == bench.collector.incarnationID)
            #expect(try await bench.stored() == [1, 2])
            #expect(bench.collector.enrollments == 1)
        }
    }

    // MARK: Gates

    @Test func `A closed gate keeps its stream back and says why while the others flow`() async throws {
        var rule = WireTransmissionRule()
        rule.data = "sample"
        rule.networks = [.wifi]
        var settings = TransmitterSettings(eventHold: .zero)
        settings.rules = [rule]
        bench.conditions.set { $0.network = .cellular }
        try await bench.run(settings: settings) { queue, transmitter in
            try await bench.enqueue(2, .sample, to: queue)
            try await bench.enqueue(2, .status, to: queue)
            guard case .waiting = await transmitter.pass() else { Issue.record("no look again"); return }
            #expect(try await bench.stored(.status) == [1, 2])
            #expect(try await bench.stored(.sample) == [])
            #expect(transmitter.status.gates["sample"]?.contains("cellular") == true)
            bench.conditions.set { $0.network = .wifi }
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored(.sample) == [1, 2])
            #expect(transmitter.status.gates.isEmpty)
        }
    }

    @Test func `While paused, nothing is sent, nobody enrolls, and the profile can still be asked for`() async throws {
        var settings = TransmitterSettings(eventHold: .zero)
        for stream in StreamName.allCases { settings.heldStreams[stream] = .paused }
        try await bench.run(settings: settings) { queue, transmitter in
            try await bench.enqueue(2, to: queue)
            #expect(await transmitter.pass() == .finished, "nothing that may go waits")
            #expect(transmitter.status.state == .gated)
            #expect(bench.collector.enrollments == 0 && bench.collector.batches == 0)
            _ = await transmitter.request(.get, WireNames.profilePath)
            #expect(bench.collector.enrollments == 1 && bench.collector.batches == 0)
            settings.heldStreams = [:]
            await transmitter.apply(settings)
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored() == [1, 2])
        }
    }

    @Test func `A held stream waits with its numbers while the others go, and goes in its order`() async throws {
        var settings = TransmitterSettings(eventHold: .zero)
        settings.heldStreams = [.event: .consent, .sample: .consent]
        try await bench.run(settings: settings) { queue, transmitter in
            for stream in StreamName.allCases { try await bench.enqueue(2, stream, to: queue) }
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored(.status) == [1, 2])
            #expect(try await bench.stored(.event) == [])
            #expect(try await bench.stored(.sample) == [])
            #expect(transmitter.status.gates.keys.sorted() == ["event", "sample"])
            settings.heldStreams = [:]
            await transmitter.apply(settings)
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored(.event) == [1, 2])
            #expect(try await bench.stored(.sample) == [1, 2])
        }
    }

    @Test func `When offline, one attempt confirms it, and then nothing is tried for a quarter of an hour`()
        async throws
    {
        bench.conditions.set { $0.network = .offline }
        let attempts = Mutex(0)
        bench.collector.setFaults { _, _ in
            attempts.withLock { $0 += 1 }
            return .requestLost
        }
        try await bench.run { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            for _ in 0..<60 {
                _ = await transmitter.pass()
                bench.clock.advance(by: .seconds(60))
            }
            #expect(attempts.withLock { $0 } == 4, "at first, and three times in the hour after")
            #expect(transmitter.status.gates.count == 3)
            #expect(transmitter.status.unreachableSince != nil)
        }
    }

    private var gateChanges: [[StreamName: TransmissionGate.Reason]] {
        bench.events.all.compactMap { if case .gatesChanged(let closed) = $0 { closed } else { nil } }
    }

    @Test func `Each change of the gates is reported once`() async throws {
        var rule = WireTransmissionRule()
        rule.data = "sample"
        rule.metered = false
        var settings = TransmitterSettings(eventHold: .zero)
        settings.rules = [rule]
        try await bench.run(settings: settings) { queue, transmitter in
            for metered in [false, true, true, false, false] {
                bench.conditions.set { $0.metered = metered }
                _ = await transmitter.pass()
            }
            #expect(gateChanges == [[.sample: .metered], [:]], "nothing at a start with open gates")
        }
    }

    @Test func `Offline is reported once it is confirmed, and an attempt that tests it reports nothing`() async throws {
        bench.conditions.set { $0.network = .offline }
        bench.collector.setFaults { _, _ in .requestLost }
        try await bench.run { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            for _ in 0..<60 {
                _ = await transmitter.pass()
                bench.clock.advance(by: .seconds(60))
            }
            #expect(gateChanges == [[.status: .offline, .event: .offline, .sample: .offline]])
            bench.collector.setFaults { _, _ in nil }
            bench.conditions.set { $0.network = .ethernet }
            _ = await transmitter.pass()
            #expect(gateChanges.last == [:])
        }
    }

    @Test func `A failing proxy holds back what no gate does until another failure or an answer`() async throws {
        let failure = Mutex<TransportError?>(TransportError(.proxy, "the proxy is gone"))
        let transport = ScriptedTransport { [bench] request throws(TransportError) in
            if let failure = failure.withLock({ $0 }) { throw failure }
            return try await bench.collector.send(request)
        }
        var settings = TransmitterSettings(eventHold: .zero)
        settings.heldStreams = [.sample: .paused]
        try await bench.run(settings: settings, transport: transport) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            func pass(_ next: TransportError?) async {
                failure.withLock { $0 = next }
                bench.clock.advance(by: .seconds(400))
                _ = await transmitter.pass()
            }
            let failing: [StreamName: TransmissionGate.Reason] = [.status: .proxy, .event: .proxy, .sample: .paused]
            await pass(TransportError(.proxy, "the proxy is gone"))
            #expect(gateChanges == [[.sample: .paused], failing])
            await pass(TransportError(.timedOut, "it is not known where"))
            #expect(gateChanges.count == 2)
            await pass(TransportError(.connectionRefused, "the collector is gone"))
            #expect(gateChanges.count == 3 && gateChanges.last == [.sample: .paused])
            await pass(TransportError(.proxy, "the proxy is gone"))
            await pass(nil)
            #expect(gateChanges.last == [.sample: .paused] && gateChanges.count == 5)
            // What fails where there is no way out is not the proxy.
            try await bench.enqueue(1, to: queue)
            bench.conditions.set { $0.network = .offline }
            await pass(TransportError(.proxy, "the proxy is gone"))
            #expect(gateChanges.count == 5)
            await pass(nil)
            #expect(gateChanges.last == [.status: .offline, .event: .offline, .sample: .paused])
        }
    }

    // MARK: Credential

    @Test func `A rotated credential is kept before it is used, and the former until it worked`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            guard case .success = await transmitter.rotateCredential() else { Issue.record("not rotated"); return }
            let rotated = try #require(enrollments.load())
            #expect(rotated.credential != "device-credential")
            #expect(rotated.formerCredential == "device-credential")
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(enrollments.load()?.credential == rotated.credential)
            #expect(enrollments.load()?.formerCredential == nil)
            #expect(bench.collector.enrollments == 1)
        }
    }

    private func afterARotationThatWorked(
        _ body: (RecordQueue, Transmitter, InMemoryEnrollmentStore) async throws -> Void
    ) async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            guard case .success = await transmitter.rotateCredential() else { Issue.record("not rotated"); return }
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            try await body(queue, transmitter, enrollments)
        }
    }

    @Test func `A collector restored from a backup made before the rotation is given the former credential`()
        async throws
    {
        try await afterARotationThatWorked { queue, transmitter, enrollments in
            let rotated = try #require(enrollments.load()).credential
            #expect(enrollments.load()?.spareCredential == "device-credential")
            bench.collector.reincarnate()
            bench.collector.forget(credential: rotated)
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(enrollments.load()?.credential == "device-credential" && enrollments.load()?.spareCredential == nil)
            #expect(try await bench.stored() == [1, 2, 3])
            #expect(bench.collector.enrollments == 1)
        }
    }

    /// Only a restored one can know it: another refusal is answered with the proof of the credential that worked.
    @Test func `A collector that is not restored is not given the former credential once the new one worked`()
        async throws
    {
        try await afterARotationThatWorked { queue, transmitter, enrollments in
            let rotated = try #require(enrollments.load()).credential
            bench.collector.forget(credential: rotated)
            bench.collector.forget(credential: "device-credential")
            try await bench.enqueue(1, to: queue)
            _ = await transmitter.pass()
            #expect(bench.collector.enrollments == 2 && enrollments.load()?.credential != "device-credential")
        }
    }

    @Test func `A collector that knows only the former credential is given that one`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            let good = try #require(enrollments.load())
            var rotated = good
            rotated.formerCredential = good.credential
            rotated.credential = "lost with the backup"
            try enrollments.save(rotated)
        }
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(enrollments.load()?.credential == "device-credential")
            #expect(bench.collector.enrollments == 1, "not even enrolled again")
            #expect(try await bench.stored() == [1, 2])
        }
    }

    @Test func `A lie that the credential is unknown does not cost the device its identity`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            guard case .success = await transmitter.rotateCredential() else { Issue.record("not rotated"); return }
            let rotated = try #require(enrollments.load())
            // The new one has arrived at the collector, so that the former one is of no use there; and then something
            // says 401 once.
            bench.collector.forget(credential: "device-credential")
            answer(WireNames.batchesPath, [TransportResponse(status: 401, headers: headers)])
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(enrollments.load()?.deviceID == rotated.deviceID, "the newest credential proves who it is")
            #expect(try await bench.stored() == [1, 2])
            #expect(try await queue.balance()[.event]?.waiting == 0)
        }
    }

    @Test func `An unenrolled device is signed off and does not come back by itself`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(await transmitter.unenroll() == .empty)
            #expect(enrollments.state() == .unenrolled(bench.collector.device))
            #expect(bench.events.all.contains(.unenrolled(bench.collector.device)))
            try await bench.enqueue(1, to: queue)
            guard case .paused = await transmitter.pass() else { Issue.record("sent"); return }
            #expect(bench.collector.enrollments == 1)
            #expect(transmitter.status.reason?.contains("unenrolled") == true)
        }
    }

    @Test func `A device that leaves does not enroll again and reports that it is refused`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(transmitter.status.refusal == nil)
            var settings = await transmitter.settings
            settings.isLeaving = true
            await transmitter.apply(settings)
            bench.collector.forgetCredentials()
            try await bench.enqueue(1, to: queue)
            guard case .paused = await transmitter.pass() else { Issue.record("sent"); return }
            #expect(bench.collector.enrollments == 1 && transmitter.status.refusal != nil)
            #expect(await transmitter.unenroll() == .empty)
            #expect(enrollments.load() == nil)
        }
    }

    @Test func `A forced unenrollment forgets the credential where nobody answers`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            bench.collector.setFaults { _, _ in .requestLost }
            #expect(await transmitter.unenroll(isForced: true) == .empty)
            #expect(enrollments.state() == .unenrolled(bench.collector.device))
        }
    }

    @Test func `A collector that cannot be reached keeps the device enrolled`() async throws {
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(1, to: queue)
            #expect(await transmitter.pass() == .finished)
            bench.collector.setFaults { _, _ in .requestLost }
            guard case .unreachable = await transmitter.unenroll() else { Issue.record("gone"); return }
            #expect(enrollments.load() != nil)
        }
    }
}
