import WireModel

/// All devices in memory, so lists are filtered, searched and sorted without reading from disk.
///
/// Not `Sendable`: its owner keeps it equal to the rows on disk.
final class DeviceIndex {
    private var entries: [DeviceID: DeviceIndexEntry] = [:]
    private var values = DeviceIndexEntry.Values()

    struct Found {
        var ids: [DeviceID]
        var total: Int
        var next: DevicePosition?
    }

    func insert(_ device: DeviceRow) {
        let entry = DeviceIndexEntry(device, sharing: &values)
        entries.updateValue(entry, forKey: device.id)?.giveBack(to: &values)
    }

    func remove(_ id: DeviceID) { entries.removeValue(forKey: id)?.giveBack(to: &values) }

    /// The number of different texts and systems that there is room for.
    var sharedValues: Int { values.texts.end + values.systems.end }

    /// - Returns: `false` for a beacon or identity. The caller then inserts the whole row again.
    func record(_ sight: DeviceObservation, of id: DeviceID) -> Bool {
        guard sight.beacon == nil, sight.identity == nil else { return false }
        entries[id]?.record(sight)
        return true
    }

    /// The number of an organization's devices that apply each revision of their profile, by application.
    func adoption(organization: String, withTest: Bool) -> [ProfileAdoption] {
        var found: [ProfileAdoption.Key: ProfileAdoption] = [:]
        let number = values.texts.number(of: organization)
        func text(_ number: DeviceIndexEntry.Text) -> String { values.texts.value(Int(number)) ?? "" }
        for entry in entries.values
        where entry.organization == number && entry.appliesProfile && (withTest || !entry.isTest) {
            let key = ProfileAdoption.Key(application: text(entry.application), revision: entry.profileRevision)
            found[key, default: ProfileAdoption(key: key, devices: 0)].devices += 1
            for finding in entry.profileFindings { found[key]?.findings[text(finding), default: 0] += 1 }
        }
        return found.values.sorted {
            ($0.key.application, $0.key.revision ?? 0) < ($1.key.application, $1.key.revision ?? 0)
        }
    }

    /// How many of an organization's devices are alike in what decides the consequences of a profile.
    func consequenceGroups(organization: String) -> [ConsequenceGroup: Int] {
        var found: [ConsequenceGroup: Int] = [:]
        let number = values.texts.number(of: organization)
        func text(_ number: DeviceIndexEntry.Text) -> String { values.texts.value(Int(number)) ?? "" }
        for entry in entries.values where entry.organization == number && entry.appliesProfile {
            let group = ConsequenceGroup(
                application: text(entry.application), applicationVersion: text(entry.applicationVersion),
                systemVersion: values.systems.value(Int(entry.system))?.version ?? "",
                isCompromised: entry.compromised == .yes)
            found[group, default: 0] += 1
        }
        return found
    }

    /// One pass over the devices. The query's order is not looked at.
    func facets(_ query: DeviceQuery, at now: Int64) -> DeviceFacets {
        let filter = DeviceFilter(query, values, at: now)
        var counter = DeviceFacetCounter(values)
        for entry in entries.values {
            let state = entry.state(at: now)
            guard let failures = filter.failuresForFacets(entry, state: state) else { continue }
            counter.add(entry, state: state, failures: failures)
        }
        return counter.facets(values)
    }

    /// All devices, ascending by id.
    var owners: [DeviceOwner] {
        entries.map { id, entry in
            DeviceOwner(
                id: id, organization: values.texts.value(Int(entry.organization)) ?? "", isTest: entry.isTest)
        }.sorted { ($0.id.high, $0.id.low) < ($1.id.high, $1.id.low) }
    }

    /// All devices that match. The query's order is not looked at.
    func selection(_ query: DeviceQuery, at now: Int64) -> DeviceSelection {
        let filter = DeviceFilter(query, values, at: now)
        return DeviceSelection(
            entries.lazy.filter { filter.admits($0.value) }.map {
                SelectedDevice(id: $0.key, enrolled: $0.value.enrolled)
            })
    }

    /// - Parameter organization: `nil` for any; devices of others are left out, as are unknown ones.
    func selection(of devices: Set<DeviceID>, organization: String?) -> DeviceSelection {
        let number = organization.map { values.texts.number(of: $0) }
        return DeviceSelection(
            devices.compactMap { id in
                guard let entry = entries[id], number.map({ $0 == entry.organization }) ?? true else { return nil }
                return SelectedDevice(id: id, enrolled: entry.enrolled)
            })
    }

    /// - Parameter position: the position after which the page begins. Its key belongs to the query's order.
    func page(_ query: DeviceQuery, after position: DevicePosition?, limit: Int, at now: Int64) -> Found {
        let filter = DeviceFilter(query, values, at: now)
        func first<Key: Comparable>(
            after key: Key?, by keyOf: (DeviceIndexEntry) -> Key, _ positionKey: (Key) -> DevicePosition.Key
        ) -> Found {
            func precedes(_ left: (Key, DeviceID), _ right: (Key, DeviceID)) -> Bool {
                let (first, second) = query.isDescending ? (right, left) : (left, right)
                if first.0 != second.0 { return first.0 < second.0 }
                return (first.1.high, first.1.low) < (second.1.high, second.1.low)
            }
            let after = position.flatMap { position in key.map { ($0, position.id) } }
            // One more than the page shows whether the list goes on.
            var first = FirstOf<(Key, DeviceID)>(limit: limit + 1, precedes: precedes)
            var total = 0
            for (id, entry) in entries where filter.admits(entry) {
                total += 1
                let place = (keyOf(entry), id)
                if let after, !precedes(after, place) { continue }
                first.offer(place)
            }
            let page = first.kept.prefix(limit)
            return Found(
                ids: page.map(\.1), total: total,
                next: first.kept.count > limit
                    ? page.last.map { DevicePosition(key: positionKey($0.0), id: $0.1) } : nil)
        }
        switch (query.sort, position?.key) {
        case (.id, _): return first(after: 0, by: { _ in 0 }, { _ in .none })
        case (.name, .text(let name)?): return first(after: name, by: \.sortName) { .text($0) }
        case (.name, _): return first(after: nil, by: \.sortName) { .text($0) }
        case (.lastSeen, _), (.enrolled, _), (.state, _):
            var after: Int64?
            if case .number(let number)? = position?.key { after = number }
            return first(after: after, by: { $0.number(of: query.sort, at: now) }) { .number($0) }
        }
    }
}

extension DeviceIndexEntry {
    fileprivate func number(of sort: DeviceQuery.Sort, at now: Int64) -> Int64 {
        switch sort {
        case .lastSeen: lastSeen ?? .min
        case .enrolled: enrolled
        case .state: Int64(state(at: now).place)
        case .id, .name: 0
        }
    }
}

/// Keeps the first elements of an order, without sorting all of them.
struct FirstOf<Element> {
    private let limit: Int
    private let precedes: (Element, Element) -> Bool
    /// The kept elements in order.
    private(set) var kept: [Element] = []

    /// - Parameter limit: at least 1.
    init(limit: Int, precedes: @escaping (Element, Element) -> Bool) {
        self.limit = limit
        self.precedes = precedes
    }

    mutating func offer(_ element: Element) {
        if kept.count >= limit {
            guard let last = kept.last, precedes(element, last) else { return }
            kept.removeLast()
        }
        var (low, high) = (0, kept.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(kept[middle], element) { low = middle + 1 } else { high = middle }
        }
        kept.insert(element, at: low)
    }
}
