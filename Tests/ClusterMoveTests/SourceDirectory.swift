import CollectorAPI
import Crypto
import Foundation
import Gzip
import Logging
import StoreTestKit
import TelemetryBasics
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// A collector's data directory with some of everything, and the devices that go on sending.
final class SourceDirectory {
    let path: String
    let clock = ManualStoreClock()
    private(set) var enrolled: [EnrollResult] = []
    private var administratorToken = ""
    private(set) var sessions: [String] = []
    /// Three streams of the first device, and one of the second; all may go on.
    var live: [ScriptedDevice] = []
    /// Closed epochs, each with its last part.
    private(set) var closed: [(device: ScriptedDevice, part: BatchPart)] = []
    private(set) var logText = Data()

    /// - Parameter days: of receipt; the oldest is dropped for samples and events.
    init(days: Int = 4) async throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-move-\(UUID())").path
        try await administer()
        try await record(days: days)
        try await uploadLogs()
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Another directory with the same content.
    func copy() throws -> String {
        let target = "\(path)-copy-\(UUID())"
        try FileManager.default.copyItem(atPath: path, toPath: target)
        return target
    }

    func withStore<Value>(_ body: (SQLiteRecordStore) async throws -> Value) async throws -> Value {
        let store = try SQLiteRecordStore.open(directory: path, clock: clock, logger: quietLogger)
        do {
            let value = try await body(store)
            await store.shutDown()
            return value
        } catch {
            await store.shutDown()
            throw error
        }
    }

    // MARK: Registry

    private func administer() async throws {
        let (service, created) = try MetadataService.open(directory: path, clock: clock, logger: quietLogger)
        guard let created else { throw StoreError(.internalFault, "no first start") }
        try await service.createOrganization("acme")
        let acme = try await service.createEnrollmentToken(organization: "acme").token
        for token in [created.enrollmentToken, created.enrollmentToken, acme, acme] {
            var request = WireEnrollRequest()
            request.application = "com.example.kiosk"
            enrolled.append(try await service.enroll(token: token, request: request))
        }
        let person = try await service.createPersonToken(name: "viewer", role: .viewer, organization: "acme")
        try await service.revokeToken(person.id)
        administratorToken = created.administratorToken
        for device in enrolled.prefix(2) {
            _ = try await service.issue(
                NewCommand(
                    device: device.deviceID, action: .sendBeacon(WireSendBeacon()),
                    expires: clock.now() + 30 * 86_400_000_000, issuer: .commandLine, idempotencyKey: "key",
                    request: Data()), organization: nil)
        }
        var profile = WireProfile.ofNewOrganization
        profile.organization = "acme"
        _ = try await service.putProfile(
            profile, ProfileScope(organization: "acme"), expected: nil, by: .commandLine)
        try await service.deleteDevice(
            enrolled[3].deviceID, enrollment: enrolled[3].enrollmentID, organization: nil, by: .commandLine)
        await service.close()
    }

    // MARK: Records

    private func record(days: Int) async throws {
        let (first, second) = (enrolled[0].deviceID, enrolled[1].deviceID)
        live = StreamName.allCases.map { ScriptedDevice(device: first, stream: $0) } + [ScriptedDevice(device: second)]
        var early = ScriptedDevice(device: enrolled[2].deviceID)
        var ending = ScriptedDevice(device: second)
        var kept = ScriptedDevice(device: enrolled[2].deviceID, stream: .event)
        try await withStore { store in
            for day in 0..<days {
                for round in 0..<3 {
                    for place in live.indices {
                        live[place].produce(5, module: "m\(day)")
                        if round == 1 {
                            live[place].dropOldest(2, reason: .ageCap)
                            live[place].append(Data([0xFF, 0xFF]))
                            live[place].append(Data(repeating: 7, count: WireLimits.recordBytes + 1))
                        }
                        _ = try await store.drain(&live[place], parts: 4)
                    }
                    clock.advance(seconds: 60)
                }
                if day == 0 {
                    early.produce(6)
                    try await close(&early, in: store, beyond: 2)
                }
                if day == 1 {
                    // Numbers that an older collector had acknowledged, and that are lost here.
                    live[0].produce(4)
                    live[0].held.removeFirst(2)
                    let number = live[0].last - 2
                    live[0].mark = StreamMark(number: number, link: live[0].links[number] ?? .zero)
                    _ = try await store.drain(&live[0])
                    ending.produce(3)
                    try await close(&ending, in: store, beyond: 4)
                }
                if day == days - 1 {
                    kept.produce(2)
                    try await close(&kept, in: store, beyond: 0)
                    // Closed before it sent anything.
                    _ = try await store.close(
                        EpochClose(
                            epoch: .random(), streams: [.init(stream: .status, last: 5, reason: .moved, points: [])]),
                        from: second)
                    // A part that the collector has already, with newer totals.
                    live[3].produce(7)
                } else {
                    clock.advance(days: 1)
                }
            }
            for stream in [StreamName.sample, .event] {
                guard let oldest = try await store.partitions().kept.first(where: { $0.partition.stream == stream })
                else { continue }
                try await store.drop(oldest.partition)
            }
        }
    }

    private func close(
        _ device: inout ScriptedDevice, in store: SQLiteRecordStore, beyond: UInt64
    ) async throws {
        guard let part = device.part() else { return }
        _ = try await store.drain(&device)
        _ = try await store.close(
            EpochClose(
                epoch: device.epoch,
                streams: [
                    .init(
                        stream: device.stream, last: device.last + beyond, reason: .moved, points: [],
                        totals: StreamTotals(produced: device.last + beyond))
                ]), from: device.device)
        closed.append((device, part))
    }

    // MARK: Logs

    private func uploadLogs() async throws {
        let (service, _) = try MetadataService.open(directory: path, clock: clock, logger: quietLogger)
        let archive = try LogArchive.open(metadata: service, logger: quietLogger)
        let row = DeviceRow(
            id: enrolled[0].deviceID, organization: "default", name: "kiosk", operatingSystem: WireOperatingSystem(),
            agentVersion: "1", application: "com.example.kiosk", machineHash: "m", test: false, created: 0, enrolled: 0)
        let texts = (1...20).map { chunk in
            Data(
                (1...30).map { line in
                    let number = LogNumber(segment: UInt64(chunk), position: UInt64(line)).value
                    return "\(Timestamp.text(clock.now() + Int64(line) * 1_000_000)) I \(number) app line \(line)\n"
                }.joined().utf8)
        }
        var manifest = WireUploadManifest()
        let upload = UploadID.random()
        manifest.uploadID = upload.data
        manifest.type = .application
        manifest.logEpoch = LogEpochID.random().data
        manifest.chunks = texts.enumerated().map { position, text in
            var chunk = WireUploadChunk()
            chunk.number = UInt32(position + 1)
            (chunk.firstLine, chunk.lastLine) = (1, 1)
            chunk.rawBytes = UInt32(text.count)
            chunk.rawDigest = Data(SHA256.hash(data: text))
            return chunk
        }
        _ = try await service.beginUpload(try UploadManifest(manifest), from: row)
        for (position, text) in texts.enumerated() {
            _ = try await archive.store(
                try GzipCodec.compress(text), chunk: position + 1, of: upload, from: row.id)
        }
        logText = try await archive.wholeText()
        if let session = try await service.signIn(token: administratorToken) { sessions.append(session.secret) }
        archive.shutDown()
        await service.close()
    }
}

extension LogArchive {
    /// All lines, in the order of their numbers.
    func wholeText() async throws -> Data {
        let content = try await content(LogQuery(), as: LogForm(order: .number))
        var text = Data()
        while let piece = try await content.next() { text += piece }
        return text
    }
}

extension RecordStore {
    /// Every record of a stream with all that the store keeps of it, in the order of receipt.
    func everyRecord(of devices: Set<DeviceID>, _ stream: StreamName) async throws -> [StoredRecord] {
        var found: [StoredRecord] = []
        try await forEachPage(of: RecordQuery(.among(devices), stream: stream)) { found += $0 }
        return found
    }
}
