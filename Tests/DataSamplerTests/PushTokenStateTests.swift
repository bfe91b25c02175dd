import Foundation
import Logging
import TestKit
import Testing
import WireModel

@testable import DataSampler
@testable import RecordQueue

@Suite struct PushTokenStateTests {
    private typealias Mark = PushTokenState.Mark

    private func mark(_ number: UInt64, stored: UInt64? = nil) -> PushTokenState.Mark {
        .init(number: number, stored: stored ?? number)
    }

    /// A state whose change `token` is in beacon `number`.
    private func carried(_ token: String?, number: UInt64, mark made: PushTokenState.Mark) -> PushTokenState {
        var state = PushTokenState()
        _ = state.set("before")
        _ = state.set(token)
        state.queued(number: number, epoch: "e", change: state.pending?.change ?? 0, mark: made)
        return state
    }

    @Test func `A token that was never said is absent`() {
        #expect(PushTokenState().pending == nil)
    }

    @Test func `A change is pending until a beacon that holds it is stored, and unchanged afterwards`() {
        var state = carried("token", number: 5, mark: mark(4))
        #expect(state.pending?.token == .token("token"))
        #expect(state.observed(mark(4), epoch: "e") == false)
        #expect(state.observed(mark(5), epoch: "e") == true)
        #expect(state.pending == nil)
        #expect(state.set("token") == false)
        #expect(state.pending == nil)
    }

    @Test func `Nil clears at the collector, once`() {
        var state = carried(nil, number: 2, mark: mark(1))
        #expect(state.pending?.token == .cleared)
        #expect(state.pending?.token.wire.cleared == true)
        #expect(state.observed(mark(2), epoch: "e") == true)
        #expect(state.set(nil) == false)
        #expect(state.set("again") == true)
        #expect(state.pending?.token.wire.token == "again")
    }

    @Test func `Saying a pending token again is no change`() {
        var state = PushTokenState()
        let first = state.set("a")
        let change = state.pending?.change
        let second = state.set("a")
        #expect(first && !second)
        #expect(state.pending?.change == change)
    }

    @Test func `A beacon made before a change does not acknowledge it`() {
        var state = carried("old", number: 5, mark: mark(4))
        let old = state.pending?.change ?? 0
        _ = state.set("new")
        #expect(state.observed(mark(5), epoch: "e") == false)
        #expect(state.pending?.token == .token("new"))
        state.queued(number: 6, epoch: "e", change: old, mark: mark(5))
        #expect(state.observed(mark(6), epoch: "e") == false)
    }

    @Test func `Changed and changed back while unacknowledged, it is reported again`() {
        var state = carried("a", number: 1, mark: mark(0))
        #expect(state.observed(mark(1), epoch: "e") == true)
        #expect(state.set("b") == true)
        #expect(state.set("a") == true)
        #expect(state.pending?.token == .token("a"))
    }

    @Test(arguments: [(UInt64(9), UInt64(8)), (9, 3), (5, 4), (5, 0)])
    func `A mark that passes what was not stored acknowledges nothing it passed`(number: UInt64, stored: UInt64) {
        var state = carried("token", number: 5, mark: mark(4))
        #expect(state.observed(mark(number, stored: stored), epoch: "e") == false)
        #expect(state.pending != nil)
        // The next beacon holds it again and arrives.
        state.queued(
            number: number + 1, epoch: "e", change: state.pending?.change ?? 0, mark: mark(number, stored: stored))
        #expect(state.observed(mark(number + 1, stored: stored + 1), epoch: "e") == true)
    }

    @Test func `What was lost before the first beacon that holds it does not count`() {
        var state = carried("token", number: 105, mark: mark(100, stored: 60))
        #expect(state.observed(mark(105, stored: 65), epoch: "e") == true)
    }

    @Test func `Numbers of an ended epoch mean nothing in the next`() {
        var state = carried("token", number: 5, mark: mark(4))
        #expect(state.observed(mark(5), epoch: "f") == false)
        #expect(state.pending != nil)
        state.queued(number: 6, epoch: "f", change: state.pending?.change ?? 0, mark: mark(5))
        #expect(state.observed(mark(6), epoch: "f") == true)
    }

    @Test func `Another collector is reported what the former knew`() {
        var state = carried("token", number: 1, mark: mark(0))
        #expect(state.observed(mark(1), epoch: "e") == true)
        state.forgotten()
        #expect(state.pending?.token == .token("token"))
        var fresh = PushTokenState()
        fresh.forgotten()
        #expect(fresh.pending == nil)
    }

    @Test func `However many beacons wait, what is remembered is bounded and one that arrives acknowledges`() throws {
        var state = carried("token", number: 1, mark: mark(0))
        for number in 2...10_000 as ClosedRange<UInt64> {
            state.queued(number: number, epoch: "e", change: state.pending?.change ?? 0, mark: mark(0))
        }
        #expect(try JSONEncoder().encode(state).count < 2_000)
        #expect(state.observed(mark(1), epoch: "e") == true)
    }

    /// A model collector that applies beacons in order, and random losses: the device never thinks it reported what it
    /// did not.
    @Test func `Over random histories of drops, epochs and restarts the collector ends up with the last token`() throws
    {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var state = PushTokenState()
            var said: PushTokenState.Token?
            var collector: PushTokenState.Token?
            var epoch = 0
            var number: UInt64 = 0
            var decided = mark(0)
            var beacons: [UInt64: PushTokenState.Token?] = [:]
            func beacon() {
                _ = state.observed(decided, epoch: "\(epoch)")
                number += 1
                beacons[number] = state.pending?.token
                if let pending = state.pending {
                    state.queued(number: number, epoch: "\(epoch)", change: pending.change, mark: decided)
                }
            }
            func deliver(losing: Bool) {
                while decided.number < number {
                    decided.number += 1
                    if losing, Bool.random(using: &random) { continue }
                    decided.stored += 1
                    if let reported = beacons[decided.number] ?? nil { collector = reported }
                }
            }
            for _ in 0..<60 {
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    let text = ["a", "b", nil].randomElement(using: &random)!
                    _ = state.set(text)
                    said = text.map { .token($0) } ?? .cleared
                case 1...3: beacon()
                case 4: deliver(losing: false)
                case 5: deliver(losing: true)
                case 6: state = try JSONDecoder().decode(PushTokenState.self, from: JSONEncoder().encode(state))
                default:
                    // What waits is queued anew in a new epoch, in order; nothing that was decided.
                    let waiting = (decided.number..<number).map { beacons[$0 + 1] ?? nil }
                    epoch += 1
                    beacons = Dictionary(
                        uniqueKeysWithValues: waiting.enumerated().map { (UInt64($0.offset) + 1, $0.element) })
                    number = UInt64(waiting.count)
                    decided = mark(0)
                }
            }
            for _ in 1...3 {
                beacon()
                deliver(losing: false)
            }
            _ = state.observed(decided, epoch: "\(epoch)")
            #expect(state.pending == nil)
            #expect(collector == said)
        }
    }
}

@Suite struct PushTokenStoreTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func store(_ directory: String) -> PushTokenStore {
        PushTokenStore(directory: directory, logger: logger, damaged: { _ in })
    }

    @Test func `A change that is not acknowledged survives a restart`() throws {
        let directory = try TemporaryDirectory()
        let first = self.store(directory.path)
        #expect(try first.set("token"))
        let second = self.store(directory.path)
        #expect(second.pending?.token == .token("token"))
        #expect(try !second.set("token"))
        let mode =
            try FileManager.default.attributesOfItem(atPath: "\(directory.path)/push-token")[.posixPermissions]
            as? NSNumber
        #expect(mode?.intValue == 0o600)
        try second.erase()
        #expect(second.pending == nil)
        #expect(store(directory.path).pending == nil)
    }

    @Test func `A token out of bounds is refused and changes nothing`() throws {
        let directory = try TemporaryDirectory()
        let store = self.store(directory.path)
        for token in ["", String(repeating: "x", count: 4_097)] {
            let error = #expect(throws: DataSamplerError.self) { try store.set(token) }
            #expect(error?.code == .invalidConfiguration)
        }
        #expect(store.pending == nil)
    }

    @Test func `Truncated or damaged anywhere, the file is quarantined and the token said anew`() throws {
        let directory = try TemporaryDirectory()
        let url = URL(filePath: "\(directory.path)/push-token")
        _ = try store(directory.path).set("token")
        let whole = try Data(contentsOf: url)
        for place in 0..<whole.count {
            var flipped = whole
            flipped[place] ^= 4
            for bytes in [whole.prefix(place), flipped] {
                try bytes.write(to: url)
                let store = self.store(directory.path)
                #expect(store.pending == nil || store.pending?.token == .token("token"))
                #expect(try store.set("other"))
            }
        }
    }
}
