import TestKit
import WireModel

/// What is on its way between a device and its collector: it is lost, repeated, delayed and overtaken.
struct LossyNetwork {
    private(set) var parts: [BatchPart] = []
    private var answers: [PartAnswer] = []

    mutating func send(_ part: BatchPart, using random: inout SplitMix64) {
        parts.append(part)
        if random.chance(0.3) { parts.append(part) }
    }

    /// The part that comes to the collector now, often the newest; `nil`: none, or it was lost.
    mutating func arrival(using random: inout SplitMix64) -> BatchPart? {
        guard !parts.isEmpty else { return nil }
        let part = parts.remove(
            at: random.chance(0.7) ? parts.count - 1 : Int.random(in: 0..<parts.count, using: &random))
        return random.chance(0.85) ? part : nil
    }

    mutating func reply(_ answer: PartAnswer, using random: inout SplitMix64) {
        guard random.chance(0.7) else { return }
        answers.append(answer)
        if random.chance(0.1) { answers.append(answer) }
    }

    /// The answer that comes to the device now, any of them.
    mutating func answer(using random: inout SplitMix64) -> PartAnswer? {
        answers.isEmpty ? nil : answers.remove(at: Int.random(in: 0..<answers.count, using: &random))
    }

    /// A part of an earlier attempt that was only delayed.
    mutating func ghost() -> BatchPart? { parts.popLast() }

    /// No connection outlives its process; what is on its way to the collector does.
    mutating func disconnect() { answers = [] }
}
