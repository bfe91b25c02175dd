import ClickHouse
import CollectorTunables
import FoundationEssentials
import PostgreSQL
import RecordStore
import TelemetryBasics
import WireModel

/// Lists records: pages backwards and forwards, and the newest of each device.
///
/// A list goes day by day, and on each day one of two ways:
/// - **Along the chains**, if few chains have a matching record on the day. Their slices are read between the marks
///   that PostgreSQL has for the day (`SliceReader`).
/// - **Along the receipts**, a stretch at a time, if there are many (`ReceiptReader`). The first stretch is short, and
///   the next ones grow while the page is not full. So a page costs what lies in its stretches, however many devices
///   there are and however long the day was.
///
/// Both give the same slices in the same order, so a page may go either way on each of its days. Only while a day is
/// being dropped do the receipts show more of it.
struct RecordListing: Sendable {
    let reader: SliceReader

    /// The most slices in one query. Their names make its text.
    private static let slicesPerFetch = 512
    /// The first query reads at least so many records, if there are as many.
    private static let recordsInFirstFetch = 256
    /// The most chains that are read along. All of their slices on a day are in memory, 9,000 of a device that sends
    /// every ten seconds.
    private static let chainsAlong = 8
    /// Slices of a stretch, at first and at most.
    private static let firstStretch = 64
    private static let longestStretch = 8192

    // MARK: Pages

    func page(
        _ query: RecordQuery, from cursor: SliceCursor?, limit: Int, isForward: Bool
    ) async throws(StoreError) -> RecordPage {
        var page = SlicePage(query: query, limit: limit, isForward: isForward)
        page.resume = cursor
        if query.isFollowing { page.horizon = try await horizon() }
        for day in try await days(of: query, from: cursor, isForward: isForward) {
            let isFull =
                switch try await chains(of: query, on: day) {
                case .none: false
                case .few(let chains): try await addAlong(chains, from: cursor, to: &page)
                case .many: try await addReceipts(of: day, from: cursor, to: &page)
                }
            if isFull { break }
        }
        return page.page
    }

    /// The position behind which slices may still come in between. A slice has the position of its claim, and is in a
    /// list once its mark has moved, mostly within a second.
    private func horizon() async throws(StoreError) -> Int64 {
        try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            let rows = try StoreError.mapping { () throws(PostgresError) in
                try session.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
            }
            return try rows[0].signed(0) - Tunables.Forwarding.lateMicroseconds
        }
    }

    /// The days that may have matching records, in the page's direction.
    private func days(
        of query: RecordQuery, from cursor: SliceCursor?, isForward: Bool
    ) async throws(StoreError) -> [UTCDay] {
        let stream = query.stream
        // A slice's day is that of its receipt or a later one, unless a clock was set back in between: hence one day
        // more.
        let since = query.receivedSince.map { UTCDay(microseconds: $0 - CivilDate.microsecondsPerDay) }
        let kept = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            let kept = try ChainTable.keptDays(stream, in: session)
            guard let devices = query.devices.few else { return kept }
            let days = try ChainTable.daysWithMatches(query, of: devices, in: session)
            return kept.filter(days.contains)
        }.filter { day in
            guard day >= since ?? day else { return false }
            guard let cursor else { return true }
            return isForward ? day >= cursor.place.day : day <= cursor.place.day
        }
        return isForward ? kept : kept.reversed()
    }

    private enum Chains {
        case none
        case few([ChainDay])
        case many
    }

    /// The chains that may have a matching record on a day.
    private func chains(of query: RecordQuery, on day: UTCDay) async throws(StoreError) -> Chains {
        let found = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.matches(query, on: day, limit: Self.chainsAlong + 1, in: session)
        }
        if found.isEmpty { return .none }
        // Without the devices' names, chains of other devices were found.
        if found.count > Self.chainsAlong || query.devices.named == nil { return .many }
        return .few(found)
    }

    private func addAlong(
        _ chains: [ChainDay], from cursor: SliceCursor?, to page: inout SlicePage
    ) async throws(StoreError) -> Bool {
        guard let days = chains.map(\.day).bounds else { return false }
        let winners = try await reader.winners(
            of: Dictionary(chains.map { ($0.key, $0.stretch) }) { first, _ in first }, days: days,
            stream: page.query.stream)
        return try await add(winners.heads.map(\.summary), winners.replica, from: cursor, to: &page)
    }

    private func addReceipts(
        of day: UTCDay, from cursor: SliceCursor?, to page: inout SlicePage
    ) async throws(StoreError) -> Bool {
        var position = cursor?.place.day == day ? cursor?.place.position : nil
        var count = Self.firstStretch
        while true {
            let stretch = try await ReceiptReader(reader: reader).next(
                on: day, from: position, upTo: page.horizon, isForward: page.isForward,
                since: page.query.receivedSince, count: count, page.query.stream)
            if try await add(stretch.slices, stretch.replica, from: cursor, to: &page) { return true }
            guard let end = stretch.end else { return false }
            if page.passed(stretch.slices.count, upTo: end, on: day) { return true }
            guard let next = page.isForward ? end.next : end.previous else { return false }
            position = next
            count = min(count * 4, Self.longestStretch)
        }
    }

    /// Adds the slices that may match, in the page's direction.
    /// - Parameters:
    ///   - slices: in any order.
    ///   - cursor: where the page continues.
    /// - Returns: whether the page is full.
    private func add(
        _ slices: [SliceSummary], _ replica: ClickHouseReplica?, from cursor: SliceCursor?, to page: inout SlicePage
    ) async throws(StoreError) -> Bool {
        let (query, isForward, horizon) = (page.query, page.isForward, page.horizon)
        let kinds = query.kindBits
        let matching = slices.filter { slice in
            guard slice.recordCount > 0, query.admits(slice.id.chain.device),
                slice.bounds.meet(query.times, kindBits: kinds), slice.place.position <= horizon
            else { return false }
            if isForward, slice.receivedAt < query.receivedSince ?? .min { return false }
            guard let cursor else { return true }
            return isForward ? slice.place > cursor.place : slice.place <= cursor.place
        }
        var rest = matching.sorted { isForward ? $0.place < $1.place : $0.place > $1.place }[...]
        // The first query reads the slices that fill the page if all records match. If few match, each further query
        // reads more.
        var records = max(page.wanted, Self.recordsInFirstFetch)
        while !rest.isEmpty {
            let some = SliceReader.merge(&rest, count: Self.slicesPerFetch, records: records)
            records = min(records * 4, 1 << 30)
            let contents = try await reader.contents(of: some, .records, stream: query.stream, preferring: replica)
            for slice in some {
                let below = !isForward && slice.place == cursor?.place ? cursor?.number ?? .max : .max
                if below == 0 { continue }
                guard let content = contents[slice.place] else { continue }
                if try page.add(content, slice, below: below) { return true }
            }
        }
        return false
    }

    // MARK: Newest

    /// The most slices examined per device before it counts as having no match.
    private static let slicesPerDevice = 256
    /// Devices looked up together.
    private static let devicesPerStep = 500

    /// Looks each device up from the ends of its chains, a slice at a time, so that the rest of a day is not read.
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
        query.devices = .among(devices)
        for day in try await days(of: query, from: nil, isForward: false) where !left.isEmpty {
            query.devices = .among(Set(left.keys))
            let (asked, limit) = (query, Int(Int32.max))
            let chains = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
                try ChainTable.matches(asked, on: day, limit: limit, in: session)
            }
            var tails = ChainTails(reader: reader, stream: query.stream, chains: chains)
            // The newest slice of each device at a time, until all have been looked at.
            while !tails.isEmpty {
                let fronts = try await tails.next()
                let matching = fronts.slices.filter { left[$0.key] != nil && Self.mayMatch($0.value, query) }
                let contents = try await reader.contents(
                    of: matching.values, .records, stream: query.stream, preferring: fronts.replica)
                for device in fronts.slices.keys {
                    if let slice = matching[device] {
                        left[device, default: 0] -= 1
                        var page = SlicePage(query: query, limit: 1, isForward: false)
                        if let content = contents[slice.place] { _ = try page.add(content, slice, below: .max) }
                        if let record = page.page.records.first {
                            found[device] = record
                            left[device] = nil
                        }
                    }
                    if left[device] ?? 0 <= 0 {
                        left[device] = nil
                        tails.leave(device)
                    }
                }
            }
        }
        return found
    }

    private static func mayMatch(_ slice: SliceSummary, _ query: RecordQuery) -> Bool {
        slice.recordCount > 0 && slice.bounds.meet(query.times, kindBits: query.kindBits)
    }
}

extension RecordQuery.Devices {
    /// The devices, as many as can be named in a query to PostgreSQL; `nil` for more.
    var named: [DeviceID]? {
        switch self {
        case .one(let device): [device]
        case .among(let devices) where devices.count <= SliceReader.chainsPerQuery: Array(devices)
        case .among, .all: nil
        }
    }

    /// So few that all of their days can be asked for at once; `nil` for more.
    var few: [DeviceID]? {
        guard let named, named.count <= 16 else { return nil }
        return named
    }
}

extension Int64 {
    fileprivate var next: Int64? { self == .max ? nil : self + 1 }
    fileprivate var previous: Int64? { self == .min ? nil : self - 1 }
}
