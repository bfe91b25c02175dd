import FoundationEssentials
import Registry
import WireModel

/// Selects logs: by the properties of whole chunks, and by a filter for lines.
package struct LogQuery: Equatable, Sendable {
    /// `nil`: all that the caller may see.
    package var organization: String?
    /// The devices whose logs are meant; empty: all of them.
    package var devices: [DeviceID]
    /// Devices whose logs are included with those of `devices`.
    package var predecessors: [DeviceID] = []
    package var application: String?
    package var type: LogType?
    /// Those of test devices, too.
    package var withTest: Bool
    /// These and no others, by their ids; empty: all.
    package var chunks: [Int64]
    /// Those that came before that, by the collector's clock.
    package var receivedBefore: Int64?
    package var lines: LogFilter

    /// - Parameter device: of this one alone; `nil` for all.
    package init(
        organization: String? = nil, device: DeviceID? = nil, application: String? = nil, type: LogType? = nil,
        withTest: Bool = false, chunks: [Int64] = [], receivedBefore: Int64? = nil, lines: LogFilter = LogFilter()
    ) {
        self.organization = organization
        devices = device.map { [$0] } ?? []
        self.application = application
        self.type = type
        self.withTest = withTest
        self.chunks = chunks
        self.receivedBefore = receivedBefore
        self.lines = lines
    }
}

/// How lines are returned.
package struct LogForm: Equatable, Sendable {
    package var order: LogOrder
    /// Whether the answer is one gzip member.
    package var isCompressed: Bool
    package var label: LogLabel?

    package init(order: LogOrder = .time, isCompressed: Bool = false, label: LogLabel? = nil) {
        self.order = order
        self.isCompressed = isCompressed
        self.label = label
    }
}

/// The label before each line.
package enum LogLabel: String, CaseIterable, Sendable {
    /// The id of its device, and a space.
    case device
    /// The id of its device and its application, each with a space. The application is `-` if it is not known.
    case source
}

/// The order in which lines of several devices, or of several processes of one, are returned.
package enum LogOrder: Sendable {
    /// The order by the devices' clocks.
    case time
    /// Device by device, as they were written.
    case number
}

/// A chunk that is kept, as people see it.
package struct ChunkRow: Equatable, Sendable {
    package var id: Int64
    package var upload: UploadID
    package var number: Int
    package var device: DeviceID
    package var organization: String
    package var application: String
    /// `nil`: lines of more than one.
    package var type: LogType?
    package var ring: Bool
    package var test: Bool
    package var command: CommandID?
    package var logEpoch: LogEpochID
    package var fileName: String
    package var rawBytes: Int
    /// SHA-256 of its text, as the device said and as it came.
    package var rawDigest: Data
    package var storedBytes: Int
    package var received: Int64
    /// The times of all lines; `nil` where none is of the form of Schemas/logs/FORMAT.md.
    package var times: ClosedRange<Int64>?
    package var numbers: ClosedRange<UInt64>?
    /// Lines per level, most severe first.
    package var levels: [UInt64]
    /// Lines of another form.
    package var otherLines: UInt64
}

/// How much of its quota an application's logs use.
package struct LogUsageRow: Equatable, Sendable {
    package var organization: String
    package var application: String
    package var test: Bool
    package var chunks: Int
    package var rawBytes: Int
    package var quotaBytes: Int
}

/// The chunks that a deletion would remove.
package struct LogDeletion: Equatable, Sendable {
    package var chunks: Int
    package var devices: Int
    package var rawBytes: Int
    package var lines: UInt64
    /// The digest of the query and of what it selects: another one once that has changed.
    package var confirmation: String
}
