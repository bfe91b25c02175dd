import Testing
import WireModel

@testable import LogStore

@Suite struct StoreStateTests {
    private static let state = StoreState(
        epoch: LogEpochID(high: 1, low: 2), next: 18,
        dropped: [
            .sizeCap: LogLevelCounts(error: 1, warning: 2, information: 3, verbose: 4),
            .torn: LogLevelCounts(verbose: 1),
            .diskFull: LogLevelCounts(error: .max / 8),
        ],
        removing: [SegmentName(ordinal: 3, kind: .application), SegmentName(ordinal: 4, kind: .ring)])

    @Test func `The state is read back`() throws {
        #expect(try StoreState(text: Self.state.text, path: "state") == Self.state)
        let empty = StoreState(epoch: .random(), next: 1)
        #expect(try StoreState(text: empty.text, path: "state") == empty)
    }

    @Test func `A state that is cut or changed is damaged`() {
        let bytes = Array(Self.state.text.utf8)
        for end in bytes.indices {
            let error = #expect(throws: LogStoreError.self) {
                _ = try StoreState(text: String(decoding: bytes[..<end], as: UTF8.self), path: "state")
            }
            #expect(error?.code == .damaged)
        }
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            #expect(throws: LogStoreError.self) {
                _ = try StoreState(text: String(decoding: changed, as: UTF8.self), path: "state")
            }
        }
    }

    @Test func `A newer state is refused by name`() {
        let error = #expect(throws: LogStoreError.self) {
            _ = try StoreState(text: "ws1log-state 3\nanything\n", path: "state")
        }
        #expect(error?.code == .newer)
    }
}
