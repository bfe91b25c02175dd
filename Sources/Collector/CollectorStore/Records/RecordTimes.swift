/// A range of times by the device's wall clock, microseconds since 1970.
package struct RecordTimes: Equatable, Sendable {
    /// Inclusive; `nil` from the beginning.
    package var from: Int64?
    /// Exclusive; `nil` to the end.
    package var to: Int64?

    package init(from: Int64? = nil, to: Int64? = nil) {
        self.from = from
        self.to = to
    }

    package static let all = RecordTimes()

    package var isAll: Bool { self == .all }

    package func contains(_ time: Int64) -> Bool {
        time >= from ?? .min && (to.map { time < $0 } ?? true)
    }
}
