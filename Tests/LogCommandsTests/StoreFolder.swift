import DeviceTestKit
import Foundation
import LogStore
import TelemetryBasics
import WireModel

/// An agent's data directory with logs in it: two sealed segments, a crash, a ring and an active one. It goes with its
/// last reference.
final class StoreFolder: Sendable {
    let path: String
    let store: StoreDirectory
    /// Text of each segment, by ordinal.
    let texts: [UInt64: [UInt8]]

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("ws1log-tests-\(UUID().uuidString)").path
        store = StoreDirectory(path: "\(path)/logs")
        try store.make()
        let sealer = try SegmentSealer()
        let epoch = try store.withState { (state) throws(LogStoreError) in
            state.next = 6
            return state.epoch
        }
        var log = SampleLog(seed: 11)
        var texts: [UInt64: [UInt8]] = [:]
        let kinds: [SegmentName.Kind] = [.application, .application, .crash, .ring, .application]
        for (ordinal, kind) in zip(1...5 as ClosedRange<UInt64>, kinds) {
            let text = log.segment(ordinal, bytes: ordinal < 3 ? 150_000 : 20_000)
            let name = SegmentName(ordinal: ordinal, kind: kind)
            let file = try OpenFile<LogStoreError>(replacing: store.path(name, .text))
            try file.write(text)
            if ordinal < 5 { _ = try sealer.seal(name, in: store, epoch: epoch) }
            texts[ordinal] = text
        }
        self.texts = texts
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func text(_ ordinals: UInt64...) -> Data { ordinals.reduce(Data()) { $0 + Data(texts[$1]!) } }

    func file(_ name: String) -> URL { URL(fileURLWithPath: "\(path)/\(name)") }
}
