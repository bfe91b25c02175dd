import DeviceTestKit
import DeviceTunables
import Foundation
import Gzip
import Logging
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel
@testable import Transmitter

/// The shell, against a collector without a network.
@Suite final class LogUploaderTests: Sendable {
    /// Chunks of text made from their number, one of which may be gone.
    private struct ScriptedSource: UploadSource {
        struct Unreadable: Error {}

        var gone: Set<UInt32> = []
        let failures: FaultCount

        func chunk(_ number: UInt32, of upload: LogUpload) async throws -> UploadContent {
            if failures.take() { throw Unreadable() }
            return gone.contains(number)
                ? .gone(.byteCap) : .compressed(try GzipCodec.compress(LogUploaderTests.text(number)))
        }
    }

    /// So many times something fails.
    private final class FaultCount: Sendable {
        private let left: Mutex<Int>

        init(_ count: Int) { left = Mutex(count) }

        func take() -> Bool {
            left.withLock { left in
                defer { left = max(0, left - 1) }
                return left > 0
            }
        }
    }

    private let bench = TransmitterBench()
    private let kept = Mutex<[LogUpload]>([])
    private let heard = Mutex<[LogUpload.Phase]>([])
    private struct DiskFull: Error {}

    private static func text(_ number: UInt32) -> Data {
        Data(repeating: UInt8(truncatingIfNeeded: number), count: 1000)
    }

    private static func upload(_ id: UInt8, chunks: UInt32 = 3) -> LogUpload {
        var manifest = WireUploadManifest()
        manifest.uploadID = Data(repeating: id, count: 16)
        manifest.type = .application
        manifest.chunks = (1...chunks).map { number in
            var chunk = WireUploadChunk()
            chunk.number = number
            chunk.rawBytes = 1000
            return chunk
        }
        return LogUpload(manifest: manifest, plan: Data(), accepted: 0)
    }

    private func uploader(
        _ transmitter: Transmitter, gone: Set<UInt32> = [], unreadable: Int = 0, failingSaves: Int = 0
    ) -> LogUploader {
        let saves = FaultCount(failingSaves)
        return LogUploader(
            transmitter: transmitter, source: ScriptedSource(gone: gone, failures: FaultCount(unreadable)),
            uploads: kept.withLock { $0 },
            save: { uploads in
                if saves.take() { throw DiskFull() }
                self.kept.withLock { $0 = uploads }
            },
            events: EventSink { event in
                if case .changed(let upload) = event { self.heard.withLock { $0.append(upload.phase) } }
            }, now: { [clock = bench.clock] in Int64(clock.now().timeSinceBoot) }, roll: { 1 },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func add(_ upload: LogUpload, to uploader: LogUploader) async throws {
        let isTaken = try await uploader.add([upload])
        #expect(isTaken)
    }

    /// Rounds until nothing is open, time passing as the uploader asks.
    private func finish(_ uploader: LogUploader) async {
        for _ in 0..<1000 {
            let pause = await uploader.round()
            if await uploader.uploads.allSatisfy(\.phase.isFinal) { return }
            bench.clock.advance(by: pause)
        }
        Issue.record("no end")
    }

    @Test func `Every chunk arrives as it is`() async throws {
        try await bench.run { _, transmitter in
            let uploader = uploader(transmitter)
            try await add(Self.upload(1), to: uploader)
            await finish(uploader)
            let arrived = try #require(bench.collector.uploads.all[Data(repeating: 1, count: 16)])
            #expect(arrived.isComplete)
            #expect(arrived.chunks == [1: Self.text(1), 2: Self.text(2), 3: Self.text(3)])
            #expect(heard.withLock { $0.last } == .done)
            #expect(kept.withLock { $0.map(\.phase) } == [.done])
        }
    }

    @Test func `Lost requests and answers cost a repeat and nothing else`() async throws {
        let random = Mutex(SplitMix64(seed: 7))
        bench.collector.setFaults { request, _ in
            guard request.path.hasPrefix(WireNames.uploadsPath) else { return nil }
            let roll = random.withLock { Double.random(in: 0..<1, using: &$0) }
            return roll < 0.3 ? .requestLost : roll < 0.6 ? .answerLost : nil
        }
        try await bench.run { _, transmitter in
            let uploader = uploader(transmitter, unreadable: 2)
            try await add(Self.upload(1, chunks: 40), to: uploader)
            await finish(uploader)
            let arrived = try #require(bench.collector.uploads.all[Data(repeating: 1, count: 16)])
            #expect(arrived.isComplete && arrived.chunks.count == 40)
        }
    }

    @Test func `A restart goes on where the collector is`() async throws {
        let sent = Mutex<[String]>([])
        bench.collector.setFaults { request, _ in
            guard request.path.hasPrefix(WireNames.uploadsPath) else { return nil }
            let count = sent.withLock { sent in
                sent.append(request.path)
                return sent.count
            }
            return count == 4 ? .requestLost : nil
        }
        try await bench.run { _, transmitter in
            let first = uploader(transmitter)
            try await add(Self.upload(1), to: first)
            _ = await first.round()
            #expect(bench.collector.uploads.all.values.first?.chunks.keys.sorted() == [1, 2])
            sent.withLock { $0 = [] }
            let second = uploader(transmitter)
            await finish(second)
            #expect(bench.collector.uploads.all.values.first?.isComplete == true)
            let chunks = sent.withLock { $0.filter { $0.contains("/chunks/") } }
            #expect(chunks.map { $0.suffix(9) } == ["/chunks/3"])
        }
    }

    @Test func `What is gone is reported with its reason`() async throws {
        try await bench.run { _, transmitter in
            let uploader = uploader(transmitter, gone: [2])
            try await add(Self.upload(1), to: uploader)
            await finish(uploader)
            let arrived = try #require(bench.collector.uploads.all.values.first)
            #expect(arrived.isComplete)
            #expect(arrived.gone == [2: .byteCap])
            #expect(arrived.chunks.keys.sorted() == [1, 3])
        }
    }

    @Test func `An upload that cannot be kept is not accepted`() async throws {
        try await bench.run { _, transmitter in
            let uploader = uploader(transmitter, failingSaves: 1)
            await #expect(throws: DiskFull.self) { try await uploader.add([Self.upload(1)]) }
            #expect(await uploader.uploads.isEmpty)
            try await add(Self.upload(1), to: uploader)
        }
    }

    @Test func `The uploads of one request are kept together or not at all`() async throws {
        try await bench.run { _, transmitter in
            let uploader = uploader(transmitter, failingSaves: 1)
            await #expect(throws: DiskFull.self) { try await uploader.add([Self.upload(1), Self.upload(2)]) }
            #expect(await uploader.uploads.isEmpty)

            let most = UInt8(Tunables.Uploads.maximumOpen)
            let all = try await uploader.add((2...most).map { Self.upload($0) })
            #expect(all)
            // There is room for one of the two.
            let both = try await uploader.add([Self.upload(most + 1), Self.upload(most + 2)])
            #expect(!both)
            #expect(await uploader.uploads.map(\.id) == (2...most).map { Data(repeating: $0, count: 16) })
            #expect(kept.withLock { $0.count } == Int(most) - 1, "they came to the disk in one step")
            #expect(bench.collector.uploads.all.isEmpty)
        }
    }

    @Test func `A cancelled upload is not sent`() async throws {
        try await bench.run { _, transmitter in
            let uploader = uploader(transmitter)
            try await add(Self.upload(1), to: uploader)
            await uploader.cancel(Data(repeating: 1, count: 16))
            await finish(uploader)
            #expect(bench.collector.uploads.all.isEmpty)
            #expect(kept.withLock { $0.map(\.phase) } == [.cancelled])
        }
    }

    @Test(arguments: [
        (true, WireNetworkClass.cellular, false), (true, .wifi, true), (true, .ethernet, true), (true, .unknown, false),
        (false, .cellular, true),
    ])
    func `Logs over Wi-Fi only holds logs back and nothing else`(
        _ isOnly: Bool, _ network: WireNetworkClass, _ goes: Bool
    )
        async throws
    {
        var settings = TransmitterSettings(eventHold: .zero)
        settings.logsOverWiFiOnly = isOnly
        bench.conditions.set { $0.network = network }
        try await bench.run(settings: settings) { queue, transmitter in
            try await bench.enqueue(3, to: queue)
            let uploader = uploader(transmitter)
            try await add(Self.upload(1), to: uploader)
            _ = await uploader.round()
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored().count == 3)
            #expect((bench.collector.uploads.all.values.first?.isComplete ?? false) == goes)
            let detail = await uploader.uploads.first?.detail
            #expect(goes ? detail == "" : detail?.contains("which the profile does not allow") == true)
            bench.conditions.set { $0.network = .wifi }
            await finish(uploader)
            #expect(bench.collector.uploads.all.values.first?.isComplete == true)
        }
    }

    @Test(arguments: [
        (TransmissionGate.Reason.logging, "logging is disabled"), (.doNotDisturb, "do-not-disturb is on"),
    ])
    func `Logs are held with their reason`(_ reason: TransmissionGate.Reason, _ detail: String) async throws {
        var settings = TransmitterSettings(eventHold: .zero)
        settings.logHold = reason
        try await bench.run(settings: settings) { _, transmitter in
            let uploader = uploader(transmitter)
            try await add(Self.upload(1), to: uploader)
            #expect(await uploader.round() == Tunables.Transmission.gateLook)
            #expect(bench.collector.uploads.all.isEmpty)
            #expect(await uploader.uploads.first?.detail == detail)
        }
    }
}
