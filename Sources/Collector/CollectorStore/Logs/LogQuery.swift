import FoundationEssentials
import WireModel

/// Which logs somebody asks for: what of it can be told of a chunk as a whole, and the filter of lines that holds everywhere.
package struct LogQuery: Equatable, Sendable {
    /// `nil`: all that the asker may see.
    package var organization: String?
    package var device: DeviceID?
    /// Devices whose logs are asked for with those of `device`.
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

    package init(
        organization: String? = nil, device: DeviceID? = nil, application: String? = nil, type: LogType? = nil, withTest: Bool = false,
        chunks: [Int64] = [], receivedBefore: Int64? = nil, lines: LogFilter = LogFilter()
    ) {
        self.organization = organization
        self.device = device
        self.application = application
        self.type = type
        self.withTest = withTest
        self.chunks = chunks
        self.receivedBefore = receivedBefore
        self.lines = lines
    }
}

/// How lines are told.
package struct LogForm: Equatable, Sendable {
    package var order: LogOrder
    /// As one gzip member.
    package var isCompressed: Bool
    /// Before each line, and a space: the id of the device it is of.
    package var namesDevices: Bool

    package init(order: LogOrder = .time, isCompressed: Bool = false, namesDevices: Bool = false) {
        self.order = order
        self.isCompressed = isCompressed
        self.namesDevices = namesDevices
    }
}

/// In which order lines of several devices, or of several processes of one, are told.
package enum LogOrder: Sendable {
    /// By the devices' clocks.
    case time
    /// Device by device, as they were written.
    case number
}
