import FoundationEssentials
import TelemetryBasics
import WireModel

/// A source of samples.
///
/// A module keeps what it needs for deltas. One caller at a time drives it, because its methods mutate it. It never
/// throws and never invents values: what cannot be read is missing in the sample and logged once.
package protocol SampleModule: Sendable {
    var name: SampleModuleName { get }

    /// Takes one sample.
    ///
    /// - Parameter time: the time of this sample. Deltas cover the time since the previous call.
    mutating func sample(at time: SampleTime) -> SampleResult
}

extension SampleModule {
    /// Whether `seconds` have passed since the last time, and if so, records `now` as the last time. A clock that went
    /// back means another boot, so it is due.
    ///
    /// - Parameters:
    ///   - last: the last time, in microseconds since boot; `nil` for never.
    ///   - now: microseconds since boot.
    static func isDue(_ last: inout UInt64?, every seconds: UInt64, now: UInt64) -> Bool {
        if let last, now >= last, now - last < seconds * 1_000_000 { return false }
        last = now
        return true
    }
}

/// The result of one reading.
package enum SampleResult: Sendable, Equatable {
    case sample(Sample)
    /// There is nothing to send. The reason appears in status and log.
    case none(reason: String)
}

/// The content of a record, ready for the queue.
package struct Sample: Sendable, Equatable {
    package let kind: WireRecordKind
    /// The record's `module`: the name of a built-in or custom module.
    package let module: String
    /// The serialized message that belongs to `kind`.
    package let body: Data

    package init(kind: WireRecordKind, module: String, body: Data) {
        self.kind = kind
        self.module = module
        self.body = body
    }
}

/// The time of a sample on both clocks. Taken once per wake-up and passed to every module that is due.
package struct SampleTime: Sendable, Equatable {
    /// Microseconds since 1970-01-01T00:00:00Z. May jump either way.
    package let wallMicroseconds: Int64
    /// Microseconds since boot, including suspend. Never goes back while the machine runs.
    package let sinceBootMicroseconds: UInt64

    package init(wallMicroseconds: Int64, sinceBootMicroseconds: UInt64) {
        self.wallMicroseconds = wallMicroseconds
        self.sinceBootMicroseconds = sinceBootMicroseconds
    }
}

/// Why a module is not available or an interval is not valid.
///
/// Expected oddities of a machine, such as a missing file or a garbled line, are no errors. They make a sample partial.
package struct SampleModuleError: CodedError, Equatable {
    package enum Code: Sendable, Equatable {
        /// No module has this name.
        case unknownModule
        /// The name is reserved, but this platform has no such source.
        case notOfferedByPlatform
        /// The name is known and stable, but this version has no such module.
        case notOfferedYet
        /// Not a finite number of seconds between the least and the greatest interval.
        case invalidInterval
    }

    package let code: Code
    /// The text for people: what was asked for, why it is not possible, and what to do.
    package let message: String
    package let cause: (any Error)?

    package init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message
    }
}
