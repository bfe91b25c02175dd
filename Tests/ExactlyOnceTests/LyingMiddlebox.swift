import Foundation
import StoreTestKit
import Synchronization
import TestKit
import Transmitter
import WireModel

/// Something between a device and its collector that answers 413, 400 or 422 as it likes, bare or with the collector's
/// headers, and passes what it was sent on, or not.
///
/// Its mood lasts for a while: it lets all through, or lies about all of it, about every other request, about requests
/// that hold a certain stream, or about those that hold certain records, which it always finds.
final class LyingMiddlebox: Sendable {
    enum Mood: CaseIterable {
        case honest
        case liesAlways
        case liesAtRandom
        case liesAboutAStream
        case liesAboutRecords
    }

    private struct State {
        var random: SplitMix64
        var mood = Mood.honest
        var hated = StreamName.event
        /// How often the collector gets what is lied about.
        var passesOn = 0.0
        var lies = 0
        var liesBehindWhichAllWasStored = 0
    }

    private let state: Mutex<State>
    private let headers: @Sendable () -> [String: String]

    init(seed: UInt64, headers: @escaping @Sendable () -> [String: String]) {
        state = Mutex(State(random: SplitMix64(seed: seed)))
        self.headers = headers
    }

    var lies: Int { state.withLock { $0.lies } }
    var liesBehindWhichAllWasStored: Int { state.withLock { $0.liesBehindWhichAllWasStored } }

    /// - Parameter isHonest: lets all through from now on.
    func changeMood(isHonest: Bool = false) {
        state.withLock { state in
            state.mood = isHonest ? .honest : Mood.allCases.randomElement(using: &state.random) ?? .honest
            state.hated = StreamName.allCases.randomElement(using: &state.random) ?? .event
            state.passesOn = [0, 0, 0.3].randomElement(using: &state.random) ?? 0
        }
    }

    func fault(_ request: TransportRequest, _ batch: WireBatchRequest?) -> LoopbackCollector.Fault? {
        state.withLock { state in
            let isHated =
                switch state.mood {
                case .honest: false
                case .liesAlways: true
                case .liesAtRandom: state.random.chance(0.5)
                case .liesAboutAStream: batch?.parts.contains { $0.stream == state.hated.wire } ?? false
                case .liesAboutRecords: batch?.parts.contains { $0.records.contains(where: Self.isHated) } ?? false
                }
            guard isHated else { return nil }
            state.lies += 1
            let status = [413, 400, 422].randomElement(using: &state.random) ?? 413
            let lie = TransportResponse(status: status, headers: state.random.chance(0.6) ? headers() : [:])
            guard state.random.chance(state.passesOn) else { return .answered(lie) }
            state.liesBehindWhichAllWasStored += 1
            return .answeredInstead(lie)
        }
    }

    private static func isHated(_ record: Data) -> Bool {
        RecordHeader(scanning: record).map { BodyMint.identity(of: record, $0).isMultiple(of: 41) } ?? false
    }
}
