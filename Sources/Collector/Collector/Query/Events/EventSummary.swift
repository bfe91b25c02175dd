import WireModel

/// Counts events by a property and by time in one pass, in bounded memory.
struct EventSummary {
    /// What events are counted by.
    enum Grouping: String, CaseIterable, Sendable {
        case name, device, application, value

        /// An event's group; `nil` for an event without that property: it is in none.
        func key(of event: WireEvent, device: DeviceID, application: String) -> String? {
            switch self {
            case .name: event.name
            case .device: device.description
            case .application: application
            case .value: Self.text(of: event.value)
            }
        }

        /// A value as text; `nil` where there is none.
        static func text(of value: WireValue) -> String? {
            switch value.value {
            case .text(let text): text
            case .integer(let number): "\(number)"
            case .real(let number): "\(number)"
            case .boolean(let flag): "\(flag)"
            case .date(let date): Timestamp.text(date)
            case nil: nil
            }
        }
    }

    /// What is counted of some events.
    struct Cell: Equatable, Sendable {
        private(set) var count = 0
        private(set) var devices: Set<DeviceID> = []
        /// Of the values that are numbers.
        private(set) var numbers = 0
        private(set) var sum = 0.0
        private(set) var least = Double.infinity
        private(set) var greatest = -Double.infinity

        /// - Returns: whether the device is one more.
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
    }

    struct Overflow: Error, Equatable {
        var detail: String
    }

    let window: SeriesWindow
    let grouping: Grouping
    private(set) var groups: [String: Group] = [:]
    /// Devices remembered, over all cells.
    private var remembered = 0

    static let maximumGroups = 10_000
    static let maximumRemembered = 2_000_000

    init(window: SeriesWindow, by grouping: Grouping) {
        self.window = window
        self.grouping = grouping
    }

    mutating func add(_ event: WireEvent, of device: DeviceID, application: String, at time: Int64) throws(Overflow) {
        guard let bucket = window.bucket(of: time), let key = grouping.key(of: event, device: device, application: application) else {
            return
        }
        if groups[key] == nil, groups.count >= Self.maximumGroups {
            throw Overflow(detail: "There are more than \(Self.maximumGroups) groups by \(grouping). Ask for less time, or filter.")
        }
        let number: Double? =
            switch event.value.value {
            case .integer(let value): Double(value)
            case .real(let value): value
            case .text, .boolean, .date, nil: nil
            }
        if groups[key, default: Group()].total.add(number, of: device) { remembered += 1 }
        if groups[key, default: Group()].buckets[bucket, default: Cell()].add(number, of: device) { remembered += 1 }
        guard remembered <= Self.maximumRemembered else {
            throw Overflow(detail: "More devices than can be counted apart in one answer. Ask for less time, or a longer `step`.")
        }
    }
}
