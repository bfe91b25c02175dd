import WireModel

/// What one device knows to have made, and what the collector has said it stored: the oracle's memory, which no rolled back disk takes back.
struct FleetLedger: Sendable {
    struct Place: Hashable, Sendable {
        let epoch: EpochID
        let stream: StreamName
        let number: UInt64
    }

    struct Entry: Sendable {
        /// Wall times of the records that ever had this place: more than one after a rollback. They tell them apart.
        var made: [Int64] = []
        /// That of the one the collector acknowledged.
        var acknowledged: Int64?
    }

    private(set) var entries: [Place: Entry] = [:]
    private(set) var made = 0

    var acknowledged: Int { entries.values.count { $0.acknowledged != nil } }

    mutating func make(_ place: Place, time: Int64) {
        made += 1
        entries[place, default: Entry()].made.append(time)
    }

    mutating func acknowledge(_ place: Place, time: Int64) {
        entries[place, default: Entry()].acknowledged = time
    }
}
