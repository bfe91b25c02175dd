import CoreMetrics
import DataSampler
import Synchronization

/// The last value; what is no number is passed over.
final class GaugeSeries: MeterHandler, RecorderHandler, Series {
    private let value = Mutex<Double?>(nil)

    let weight = 1

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) {
        if value.isFinite { self.value.withLock { $0 = value } }
    }

    func increment(by amount: Double) {
        value.withLock { value in
            let sum = (value ?? 0) + amount
            if sum.isFinite { value = sum }
        }
    }

    func decrement(by amount: Double) { increment(by: -amount) }

    func record(_ value: Int64) { set(Double(value)) }

    func record(_ value: Double) { set(value) }

    func takeMeasurements(_ key: SeriesKey) -> [SampleMeasurement] {
        value.withLock { $0 }.map { [key.measurement(.double($0))] } ?? []
    }
}
