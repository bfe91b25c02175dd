import RecordQueue
import WireModel

/// Where every record produced is: `produced = stored + rejected + dropped + lostAtCollector + waiting`, per stream. `Codable` is its JSON form.
public struct DataSamplerBalance: Codable, Equatable, Sendable {
    /// One stream's.
    public struct Stream: Codable, Equatable, Sendable {
        /// Records this device produced in this epoch.
        public var produced: UInt64
        /// Stored at the collector, by its word.
        public var stored: UInt64
        /// Refused by the collector, by reason.
        public var rejected: [String: UInt64]
        /// Dropped on this device, by reason.
        public var dropped: [String: UInt64]
        /// Passed by the collector without having been seen.
        public var lostAtCollector: UInt64
        /// Rows counted on this device's disk.
        public var waiting: UInt64
        /// Whether the sum is right.
        public var closes: Bool
    }

    /// The present epoch.
    public var epoch: String
    /// The device's id; `nil` before the first enrollment.
    public var device: String?
    /// By stream: `status`, `event`, `sample`.
    public var streams: [String: Stream]
    /// Whether every stream's closes.
    public var closes: Bool
}

extension SamplerCore {
    func balance() async throws(DataSamplerError) -> DataSamplerBalance {
        let balances: [StreamName: StreamBalance]
        let device: DeviceID?
        do {
            balances = try await queue.balance()
            device = try await queue.binding?.device
        } catch {
            throw DataSamplerError(error)
        }
        var streams: [String: DataSamplerBalance.Stream] = [:]
        for (name, balance) in balances {
            streams["\(name)"] = DataSamplerBalance.Stream(
                produced: balance.produced, stored: balance.stored, rejected: balance.rejected, dropped: balance.dropped,
                lostAtCollector: balance.lostAtCollector, waiting: balance.waiting, closes: balance.closes)
        }
        return DataSamplerBalance(
            epoch: "\(queue.epoch)", device: device.map { "\($0)" }, streams: streams, closes: balances.values.allSatisfy(\.closes))
    }
}
