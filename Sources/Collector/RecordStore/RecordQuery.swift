import WireModel

/// Selects records of a stream. Everything is in the envelope, so no body is decoded.
package struct RecordQuery: Equatable, Sendable {
    package enum Devices: Equatable, Sendable {
        case one(DeviceID)
        /// These devices of the fleet alone.
        case among(Set<DeviceID>)
        /// Every device whose records are stored, also one that nobody knows any more.
        case all
    }

    package var devices: Devices
    package var stream: StreamName
    /// Raw values of record kinds; empty for all.
    package var kinds: Set<Int>
    /// The sample module whose records alone are read.
    package var module: String?
    /// The bundle id whose records alone are read; empty for those of the agent itself.
    package var application: String?
    package var times: RecordTimes
    /// Whether to include test data.
    package var withTest: Bool
    /// The time of receipt from which a `scan` reads, by the collector's clock, and perhaps a few older records; `nil`
    /// for all.
    package var receivedSince: Int64?
    /// Whether a `scan` ends where something may still come in between: some records wait for a moment then, but none
    /// is passed over by who goes on at `RecordPage.resume`.
    package var isFollowing = false

    package init(
        _ devices: Devices, stream: StreamName, kinds: Set<Int> = [], module: String? = nil, application: String? = nil,
        times: RecordTimes = .all, withTest: Bool = true, receivedSince: Int64? = nil
    ) {
        self.devices = devices
        self.stream = stream
        self.kinds = kinds
        self.module = module
        self.application = application
        self.times = times
        self.withTest = withTest
        self.receivedSince = receivedSince
    }

    /// Whether a record matches, apart from its device.
    package func admits(_ header: RecordHeader) -> Bool {
        (kinds.isEmpty || kinds.contains(header.kind)) && (module == nil || header.module == module)
            && (application == nil || header.application == application) && (withTest || !header.test)
            && times.contains(header.wallTime)
    }

    package func admits(_ device: DeviceID) -> Bool {
        switch devices {
        case .one(let one): device == one
        case .among(let some): some.contains(device)
        case .all: true
        }
    }

    /// Bits of `RecordBounds.kinds`; `nil` if every slice may match.
    package var kindBits: UInt64? {
        kinds.isEmpty ? nil : kinds.reduce(0) { $0 | RecordBounds.kindBit($1) }
    }
}

/// A range of times by the device's wall clock, microseconds since 1970.
package struct RecordTimes: Equatable, Sendable {
    /// Inclusive; `nil` for the beginning.
    package var from: Int64?
    /// Exclusive; `nil` for the end.
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

/// The range of wall times and the kinds of some records. A query outside of them skips the records.
///
/// Device clocks may be wrong, so the day of receipt proves nothing about these times.
package struct RecordBounds: Equatable, Sendable {
    package private(set) var earliest: Int64
    package private(set) var latest: Int64
    /// The `kindBit` of each kind.
    package private(set) var kinds: UInt64

    /// The bounds of no record; they match nothing.
    package static let none = RecordBounds(earliest: .max, latest: .min, kinds: 0)

    package init(earliest: Int64, latest: Int64, kinds: UInt64) {
        self.earliest = earliest
        self.latest = latest
        self.kinds = kinds
    }

    /// The bit of a record kind. Two kinds may share one.
    package static func kindBit(_ kind: Int) -> UInt64 { 1 << UInt64(kind % 63) }

    package mutating func include(kind: Int, at time: Int64) {
        include(RecordBounds(earliest: time, latest: time, kinds: RecordBounds.kindBit(kind)))
    }

    package mutating func include(_ other: RecordBounds) {
        earliest = min(earliest, other.earliest)
        latest = max(latest, other.latest)
        kinds |= other.kinds
    }

    /// Whether a matching record may be among them.
    /// - Parameter kindBits: `nil` for any kind.
    package func meet(_ times: RecordTimes, kindBits: UInt64?) -> Bool {
        earliest <= latest && times.from.map { latest >= $0 } ?? true && times.to.map { earliest < $0 } ?? true
            && kindBits.map { kinds & $0 != 0 } ?? true
    }
}
