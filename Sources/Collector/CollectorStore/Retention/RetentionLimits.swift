import WireModel

/// How long, and how much of them, the records of each stream are kept.
package struct RetentionLimits: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        /// Since their receipt, 1 or more.
        package var days: Int
        /// Of all the stream's files together; `nil`: whatever they take.
        package var bytes: Int64?

        package init(days: Int, bytes: Int64? = nil) {
            self.days = days
            self.bytes = bytes
        }
    }

    package var status: Stream
    package var event: Stream
    package var sample: Stream

    package init(status: Stream = Stream(days: 90), event: Stream = Stream(days: 90), sample: Stream = Stream(days: 30)) {
        self.status = status
        self.event = event
        self.sample = sample
    }

    package subscript(stream: StreamName) -> Stream {
        get {
            switch stream {
            case .status: status
            case .event: event
            case .sample: sample
            }
        }
        set {
            switch stream {
            case .status: status = newValue
            case .event: event = newValue
            case .sample: sample = newValue
            }
        }
    }
}
