import CollectorAPI
import RecordViews
import TelemetryBasics
import WireModel

/// Counts events by a property and by time in one pass with bounded memory.
struct EventSummary {
    /// The property by which events are counted.
    enum Grouping: String, CaseIterable, Sendable {
        case name, device, application, value

        /// An event's group; `nil` if it lacks the property and belongs to none.
        func key(of event: WireEvent, device: DeviceID, application: String) -> String? {
            switch self {
            case .name: event.name
            case .device: device.description
            case .application: application
            case .value: event.value.viewText
            }
        }
    }

    /// The counts of some events.
    struct Cell: Equatable, Sendable {
        private(set) var count = 0
        private(set) var devices: Set<DeviceID> = []
        /// The number of values that are numbers.
        private(set) var numbers = 0
        private(set) var sum = 0.0
        private(set) var least = Double.infinity
        private(set) var greatest = -Double.infinity
        /// The numbers themselves. Only in buckets; a group's are those of its buckets.
        fileprivate(set) var values = NumberCounts()

        /// - Returns: whether the device is new.
        fileprivate mutating func add(_ number: Double?, of device: DeviceID) -> Bool {
            count += 1
            if let number, number.isFinite {
                numbers += 1
                sum += number
                least = min(least, number)
                greatest = max(greatest, number)
            }
            return devices.insert(device).inserted
        }
    }

    struct Group: Sendable {
        fileprivate(set) var total = Cell()
        fileprivate(set) var buckets: [Int: Cell] = [:]

        var values: NumberCounts {
            var values = NumberCounts()
            for bucket in buckets.values { values.add(bucket.values) }
            return values
        }
    }

    struct Overflow: Error, Equatable {
        var detail: String
    }

    let window: SeriesWindow
    let grouping: Grouping
    private(set) var groups: [String: Group] = [:]
    /// Remembered devices of all cells.
    private var remembered = 0
    /// Remembered numbers of all cells.
    private var numbers = 0
    /// The number of digits to which percentiles are right; `nil`: they are numbers that there are.
    private(set) var digits: Int?
    private let maximumNumbers: Int

    static let maximumGroups = 10_000
    static let maximumRemembered = 2_000_000
    /// The most different numbers of all cells. If there are more, they are rounded to three digits, then to two.
    static let maximumNumbers = 1_000_000

    init(window: SeriesWindow, by grouping: Grouping, maximumNumbers: Int = EventSummary.maximumNumbers) {
        self.window = window
        self.grouping = grouping
        self.maximumNumbers = maximumNumbers
    }

    mutating func add(_ event: WireEvent, of device: DeviceID, application: String, at time: Int64) throws(Overflow) {
        guard let bucket = window.bucket(of: time),
            let key = grouping.key(of: event, device: device, application: application)
        else { return }
        if groups[key] == nil, groups.count >= Self.maximumGroups {
            throw Overflow(
                detail: "There are more than \(Self.maximumGroups) groups by \(grouping). Ask for less time, or filter."
            )
        }
        let number: Double? =
            switch event.value.value {
            case .integer(let value): Double(value)
            case .real(let value): value
            case .text, .boolean, .date, nil: nil
            }
        if groups[key, default: Group()].total.add(number, of: device) { remembered += 1 }
        if groups[key, default: Group()].buckets[bucket, default: Cell()].add(number, of: device) { remembered += 1 }
        if let number, number.isFinite { try remember(number, of: key, in: bucket) }
        guard remembered <= Self.maximumRemembered else {
            throw Overflow(
                detail: "There are too many devices to count in one answer. Ask for less time, or a longer `step`.")
        }
    }
}

extension EventSummary {
    private mutating func remember(_ number: Double, of key: String, in bucket: Int) throws(Overflow) {
        let number = digits.map { NumberCounts.rounded(number, to: $0) } ?? number
        guard groups[key]?.buckets[bucket]?.values.add(number) == true else { return }
        numbers += 1
        while numbers > maximumNumbers {
            guard digits != 2 else {
                throw Overflow(
                    detail:
                        """
                        There are too many different values to sum up in one answer. Ask for less time, for a longer \
                        `step`, or filter.
                        """
                )
            }
            roundNumbers(to: digits == nil ? 3 : 2)
        }
    }

    private mutating func roundNumbers(to digits: Int) {
        self.digits = digits
        numbers = 0
        for key in groups.keys {
            for bucket in groups[key]?.buckets.keys.map({ $0 }) ?? [] {
                groups[key]?.buckets[bucket]?.values.round(to: digits)
                numbers += groups[key]?.buckets[bucket]?.values.counts.count ?? 0
            }
        }
    }
}

extension EventSummaryView {
    init(_ summary: EventSummary, isStepped: Bool) {
        self.init()
        let window = summary.window
        from = Timestamp.text(window.from)
        to = Timestamp.text(window.to)
        stepSeconds = isStepped ? window.step / 1_000_000 : nil
        by = summary.grouping.rawValue
        percentileDigits = summary.digits
        groups = summary.groups.sorted { ($1.value.total.count, $0.key) < ($0.value.total.count, $1.key) }.map {
            key, found in
            var group = Group()
            group.key = key
            group.count = found.total.count
            group.devices = found.total.devices.count
            group.numeric = Numeric(found.total, found.values)
            group.buckets = isStepped ? Buckets(found, count: window.buckets) : nil
            return group
        }
    }
}

extension EventSummaryView.Numeric {
    fileprivate init?(_ cell: EventSummary.Cell, _ values: NumberCounts) {
        guard cell.numbers > 0, cell.sum.isFinite, let percentiles = values.percentiles([50, 95]) else { return nil }
        self.init()
        count = cell.numbers
        sum = cell.sum
        mean = cell.sum / Double(cell.numbers)
        min = cell.least
        max = cell.greatest
        // Rounded ones may be beyond them.
        p50 = Swift.min(Swift.max(percentiles[0], min), max)
        p95 = Swift.min(Swift.max(percentiles[1], min), max)
    }
}

extension EventSummaryView.Buckets {
    fileprivate init(_ group: EventSummary.Group, count buckets: Int) {
        self.init()
        let cells = (0..<buckets).map { group.buckets[$0] ?? EventSummary.Cell() }
        let numeric = cells.map { EventSummaryView.Numeric($0, $0.values) }
        count = cells.map(\.count)
        devices = cells.map(\.devices.count)
        sum = numeric.map { $0?.sum }
        mean = numeric.map { $0?.mean }
        min = numeric.map { $0?.min }
        max = numeric.map { $0?.max }
        p50 = numeric.map { $0?.p50 }
        p95 = numeric.map { $0?.p95 }
    }
}
