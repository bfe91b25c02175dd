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
