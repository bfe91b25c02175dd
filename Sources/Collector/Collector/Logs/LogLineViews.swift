import CollectorAPI
import LogArchive
import TelemetryBasics
import WireModel

extension LogLineView {
    /// - Parameter names: of devices.
    init(_ row: LogLineRow, _ names: [DeviceID: String]) {
        self.init()
        id = LogCursor.text(row.id)
        time = Timestamp.text(row.id.time)
        level = row.level.name
        category = row.category
        text = row.text
        metadata = row.metadata.isEmpty ? nil : row.metadata
        unformatted = row.unformatted
        cut = row.isCut ? true : nil
        device = row.id.device.description
        deviceName = names[row.id.device]
        application = row.application.isEmpty ? nil : row.application
        type = row.type
        ring = row.ring ? true : nil
        test = row.test ? true : nil
        chunk = String(row.chunk)
        line = row.id.number
    }
}

extension LogLinesView {
    init(_ page: LogLinePage, _ order: LogLineOrder, _ names: [DeviceID: String]) {
        self.init()
        items = page.lines.map { LogLineView($0, names) }
        next = page.next.map { LogCursor.text($0, order) }
        newest = LogCursor.text(page.arrival)
        through = page.next.map { Timestamp.text($0.time) }
        scannedBytes = page.scannedBytes
    }

    /// Lines that arrived. `next` is `newest` while there are more at once.
    init(_ arrived: ArrivedLogLines, _ names: [DeviceID: String]) {
        self.init()
        items = arrived.lines.map { LogLineView($0, names) }
        newest = LogCursor.text(arrived.arrival)
        next = arrived.hasMore ? newest : nil
        scannedBytes = arrived.scannedBytes
    }
}

extension LogContextView {
    init(_ context: LogLineContext, of line: LogLineID, _ names: [DeviceID: String]) {
        self.init()
        items = context.lines.map { LogLineView($0, names) }
        self.line = LogCursor.text(line)
        hasEarlier = context.hasEarlier
        hasLater = context.hasLater
        scannedBytes = context.scannedBytes
    }
}
