import CoreMetrics
import DataSampler
import Synchronization

/// A total that grows, and what it grew by. Stops at the greatest number there is instead of wrapping.
final class CounterSeries: CounterHandler, Series {
    private struct State {
        var total: Int64 = 0
        var told: Int64 = 0
    }

    private let state = Mutex(State())

    let weight = 2

    func increment(by amount: Int64) {
        state.withLock { state in
            let (sum, overflow) = state.total.addingReportingOverflow(amount)
            state.total = overflow ? (amount > 0 ? .max : .min) : sum
        }
    }

    func reset() { state.withLock { $0 = State() } }

    func takeMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        let (total, delta) = state.withLock { state in
            defer { state.told = state.total }
            return (state.total, state.total.subtractingReportingOverflow(state.told).partialValue)
        }
        return [key.measurement(.integer(total)), key.measurement(.integer(delta), suffix: ".delta")]
    }
}

/// As `CounterSeries`, of numbers with a fraction. What is no number, or would make it none, is passed over.
final class FloatingPointCounterSeries: FloatingPointCounterHandler, Series {
    private struct State {
        var total = 0.0
        var told = 0.0
    }

    private let state = Mutex(State())

    let weight = 2

    func increment(by amount: Double) {
        state.withLock { state in
            let sum = state.total + amount
            if sum.isFinite { state.total = sum }
        }
    }

    func reset() { state.withLock { $0 = State() } }

    func takeMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        let (total, delta) = state.withLock { state in
            defer { state.told = state.total }
            return (state.total, state.total - state.told)
        }
        return [key.measurement(.double(total)), key.measurement(.double(delta), suffix: ".delta")]
    }
}
