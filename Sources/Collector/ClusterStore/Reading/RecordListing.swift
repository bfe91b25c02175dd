import ClickHouse
import CollectorStore
import FoundationEssentials
import PostgreSQL
import WireModel

/// Lists records: pages backwards and forwards, and the newest of each device.
struct RecordListing: Sendable {
    let reader: SliceReader

    /// Days read together, at first and at most. Most pages end on the first day.
    private static let firstDays = 1
    private static let mostDays = 32
    /// Bytes of slices fetched together.
    private static let bytesPerFetch: UInt64 = 4 << 20
    private static let slicesPerFetch = 64

    // MARK: Pages

    func page(
        _ query: RecordQuery, from cursor: SliceCursor?, limit: Int, isForward: Bool
    ) async throws(StoreError) -> RecordPage {
        var page = SlicePage(query: query, limit: limit, isForward: isForward)
        var days = try await days(of: query, from: cursor, isForward: isForward)[...]
        var count = Self.firstDays
        while !days.isEmpty {
            let some = days.prefix(count)
            days = days.dropFirst(count)
            count = min(count * 2, Self.mostDays)
            let (heads, replica) = try await heads(of: query, days: Array(some))
            let sorted = heads.filter { head in
                if isForward, head.receivedAt < query.receivedSince ?? .min { return false }
                guard let cursor else { return true }
                return isForward ? head.place > cursor.place : head.place <= cursor.place
            }.sorted { isForward ? $0.place < $1.place : $0.place > $1.place }
            if try await add(sorted, replica, from: isForward ? nil : cursor, to: &page) { break }
        }
        return page.page
    }

    /// The days that may have matching records, in the page's direction.
    private func days(
        of query: RecordQuery, from cursor: SliceCursor?, isForward: Bool
    ) async throws(StoreError) -> [UTCDay] {
        let stream = query.stream
        // A slice's day is that of its receipt or a later one, unless a clock was set back in between: hence one day
        // more.
        let since = query.receivedSince.map { UTCDay(microseconds: $0 - 86_400_000_000) }
        let kept = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.keptDays(stream, in: session)
        }.filter { day in
            guard day >= since ?? day else { return false }
            guard let cursor else { return true }
            return isForward ? day >= cursor.place.day : day <= cursor.place.day
        }
        return isForward ? kept : kept.reversed()
    }

    /// The slices of some days that may match, in any order.
    private func heads(
        of query: RecordQuery, days: [UTCDay]
    ) async throws(StoreError) -> (heads: [SliceHead], replica: ClickHouseReplica?) {
        let chainDays = try await chainDays(of: query, days: days)
        // The stretches of one chain on several days follow each other.
        var stretches: [ChainKey: SliceTiling.Stretch] = [:]
        for day in chainDays.sorted(by: { $0.day < $1.day }) {
            guard var stretch = stretches[day.key], stretch.end == day.stretch.begin else {
                stretches[day.key] = day.stretch
                continue
            }
            (stretch.end, stretch.endNumber) = (day.stretch.end, day.stretch.endNumber)
            stretches[day.key] = stretch
        }
        guard let range = days.bounds else { return ([], nil) }
        let winners = try await reader.winners(of: stretches, days: range, stream: query.stream)
        let kinds = query.kindBits
        return (
            winners.heads.filter { $0.recordCount > 0 && $0.bounds.meet(query.times, kindBits: kinds) }, winners.replica
        )
    }

    /// What the days have of the chains that the query asks for. Chains without a matching record on any of the days
    /// are left out.
    private func chainDays(of query: RecordQuery, days: [UTCDay]) async throws(StoreError) -> [ChainDay] {
        guard let range = days.bounds else { return [] }
        let devices: [DeviceID]? =
            switch query.devices {
            case .one(let device): [device]
            case .among(let devices) where devices.count <= SliceReader.chainsPerQuery: Array(devices)
            case .among: nil
            }
        let found = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.days(
                of: devices, from: range.lowerBound, to: range.upperBound, query.stream, in: session)
        }.filter { query.admits($0.key.device) }
        let kinds = query.kindBits
        let matching = Set(found.filter { $0.bounds.meet(query.times, kindBits: kinds) }.map(\.key))
        return found.filter { matching.contains($0.key) }
    }

    /// - Parameter cursor: where the page continues, in a slice that was read in part.
    /// - Returns: whether the page is full.
    private func add(
        _ heads: [SliceHead], _ replica: ClickHouseReplica?, from cursor: SliceCursor?, to page: inout SlicePage
    ) async throws(StoreError) -> Bool {
        var rest = heads[...]
        while !rest.isEmpty {
            let some = Self.fetch(&rest)
            let contents = try await reader.contents(of: some, stream: page.query.stream, preferring: replica)
            for head in some {
                let below = head.place == cursor?.place ? cursor?.number ?? .max : .max
                if below == 0 { continue }
                guard let slice = contents[head.place] else { continue }
                if try page.add(slice, head, below: below) { return true }
            }
        }
        return false
    }

    /// Takes the next slices that are fetched together.
    private static func fetch(_ rest: inout ArraySlice<SliceHead>) -> ArraySlice<SliceHead> {
        var bytes: UInt64 = 0
        var count = 0
        while count < rest.count, count < slicesPerFetch, bytes < bytesPerFetch {
            bytes += rest[rest.startIndex + count].byteCount
            count += 1
        }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    // MARK: Newest

    /// The most slices examined per device before it counts as having no match.
    private static let slicesPerDevice = 256
    private static let devicesPerStep = 500

    func newest(
        of devices: [DeviceID], _ query: RecordQuery
    ) async throws(StoreError) -> [DeviceID: StoredRecord] {
        var found: [DeviceID: StoredRecord] = [:]
        var rest = devices[...]
        while !rest.isEmpty {
            found.merge(try await newest(of: Set(rest.prefix(Self.devicesPerStep)), query)) { first, _ in first }
            rest = rest.dropFirst(Self.devicesPerStep)
        }
        return found
    }

    private func newest(
        of devices: Set<DeviceID>, _ query: RecordQuery
    ) async throws(StoreError) -> [DeviceID: StoredRecord] {
        var query = query
        var found: [DeviceID: StoredRecord] = [:]
        var left = Dictionary(uniqueKeysWithValues: devices.map { ($0, Self.slicesPerDevice) })
        for day in try await days(of: query, from: nil, isForward: false) where !left.isEmpty {
            query.devices = .among(Set(left.keys))
            let (heads, replica) = try await heads(of: query, days: [day])
            var candidates = Dictionary(grouping: heads, by: \.chain.device).mapValues {
                $0.sorted { $0.place > $1.place }.prefix(Self.slicesPerDevice)
            }
            // One slice of each device at a time, until all have been looked at.
            while !candidates.isEmpty {
                let fronts = candidates.compactMapValues(\.first)
                let contents = try await reader.contents(of: fronts.values, stream: query.stream, preferring: replica)
                for (device, head) in fronts {
                    candidates[device]?.removeFirst()
                    left[device, default: 0] -= 1
                    var page = SlicePage(query: query, limit: 1, isForward: false)
                    if let slice = contents[head.place] { _ = try page.add(slice, head, below: .max) }
                    if let record = page.page.records.first {
                        found[device] = record
                        left[device] = nil
                    }
                    if left[device] ?? 0 <= 0 { left[device] = nil }
                    if left[device] == nil || candidates[device]?.isEmpty == true { candidates[device] = nil }
                }
            }
        }
        return found
    }
}
