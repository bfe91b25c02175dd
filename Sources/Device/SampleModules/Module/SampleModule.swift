import FoundationEssentials
import WireModel

/// One source of samples.
///
/// A module keeps what it needs for deltas to itself and is driven by one caller at a time (its methods mutate it).
/// It never throws and never invents: what cannot be read is absent from the sample and traced once.
package protocol SampleModule: Sendable {
    var name: SampleModuleName { get }

    /// Reads the machine once.
    ///
    /// - Parameter time: the time of this sample; deltas span from the previous call's.
    mutating func sample(at time: SampleTime) -> SampleResult
}

extension SampleModule {
    /// Whether something is due again, `seconds` after it was done last; notes that it is done now. A clock that went
    /// back means another boot: it is done again.
    ///
    /// - Parameters:
    ///   - last: when it was done last, microseconds since boot; `nil`: never.
    ///   - now: microseconds since boot.
    static func isDue(_ last: inout UInt64?, every seconds: UInt64, now: UInt64) -> Bool {
        if let last, now >= last, now - last < seconds * 1_000_000 { return false }
        last = now
        return true
    }
}

/// What one reading gave.
package enum SampleResult: Sendable, Equatable {
    case sample(Sample)
    /// Nothing to send, and why (for the status command and the trace).
    case none(reason: String)
}

/// A record's content, ready for the queue.
package struct Sample: Sendable, Equatable {
    package let kind: WireRecordKind
    /// The record's `module`: a built-in module's name or that of a custom one.
    package let module: String
    /// The serialized message that belongs to `kind`.
    package let body: Data

    package init(kind: WireRecordKind, module: String, body: Data) {
        self.kind = kind
        self.module = module
        self.body = body
    }
}

/// When a sample is taken, on both clocks. Taken once per wake-up and handed to every module that is due.
package struct SampleTime: Sendable, Equatable {
    /// Microseconds since 1970-01-01T00:00:00Z; may jump either way.
    package let wallMicroseconds: Int64
    /// Microseconds since the machine started, counting suspend; never goes back while it runs.
    package let sinceBootMicroseconds: UInt64

    package init(wallMicroseconds: Int64, sinceBootMicroseconds: UInt64) {
        self.wallMicroseconds = wallMicroseconds
        self.sinceBootMicroseconds = sinceBootMicroseconds
    }
}

/// Why a module cannot be had or an interval cannot be used.
///
/// Expected oddities of a machine (a missing file, a garbled line) are not errors: they make a sample partial.
package struct SampleModuleError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// No module has this name.
        case unknownModule
        /// The name is reserved, but no such source exists on this platform.
        case notOfferedByPlatform
        /// The name is stable and known, but this version has no such module.
        case notOfferedYet
        /// Not a finite number of seconds between the least and the greatest interval.
        case invalidInterval
    }

    package let code: Code
    /// What was asked, why it cannot be, and what to do instead.
    package let message: String
    package let cause: (any Error)?

    package init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }

    package static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message
    }
}
