import CollectorStore
import WireModel

/// Which records a list shows.
struct RecordFilter: Sendable {
    var stream: StreamName
    var kind: Int?
    var module: String?
    /// By the device's wall clock, inclusive, microseconds since 1970.
    var from: Int64?
    /// Exclusive.
    var to: Int64?
    var eventName: String?

    init(stream: StreamName, kind: Int? = nil, module: String? = nil, from: Int64? = nil, to: Int64? = nil, eventName: String? = nil) {
        self.stream = stream
        self.kind = kind
        self.module = module
        self.from = from
        self.to = to
        self.eventName = eventName
    }

    /// Times and names are not in the store's order or index, so they are looked at record by record.
    func admits(_ record: StoredRecord, withTest: Bool) -> Bool {
        let header = record.header
        guard withTest || !header.test else { return false }
        if let from, header.wallTime < from { return false }
        if let to, header.wallTime >= to { return false }
        if let eventName {
            guard let event = try? WireEvent.decode(header.body(of: record.bytes)), event.name == eventName else { return false }
        }
        return true
    }
}

/// Gathers one page of records from the store, page by page of its own, within a budget of records looked at.
struct RecordCollector {
    let limit: Int
    private(set) var budget: Int
    let withTest: Bool
    /// Whether samples come with the catalog's points too.
    let withMetrics: Bool
    let filter: RecordFilter
    private(set) var items: [RecordView] = []

    init(limit: Int, budget: Int, withTest: Bool, withMetrics: Bool = false, filter: RecordFilter) {
        self.limit = limit
        self.budget = budget
        self.withTest = withTest
        self.withMetrics = withMetrics
        self.filter = filter
    }

    var isDone: Bool { items.count >= limit || budget <= 0 }

    /// - Returns: where to go on, when the page is full or the budget is spent before the device's records are; `nil` at their end.
    mutating func collect(_ device: DeviceRow, before: String?, from store: any RecordStore) async throws -> PageCursor? {
        guard withTest || !device.test else { return nil }
        var position = before
        while !isDone {
            let page: RecordPage
            do throws(StoreError) {
                page = try await store.records(
                    of: device.id, stream: filter.stream, kind: filter.kind, module: filter.module, before: position,
                    limit: min(limit - items.count, budget))
            } catch {
                throw error.code == .invalid ? Problem.invalidParameter("cursor", "is not one that this collector gave.") : .ofStore(error)
            }
            // An empty look costs too: many devices without a record must not make one request endless.
            budget -= max(1, page.records.count)
            for record in page.records where filter.admits(record, withTest: withTest) {
                items.append(try RecordView(record, device: device.id, withMetrics: withMetrics))
            }
            guard let next = page.next else { return nil }
            position = next
        }
        return PageCursor(device: device.id, before: position)
    }

    func page(next: PageCursor?) -> Page<RecordView> { Page(items: items, next: next?.text) }
}
