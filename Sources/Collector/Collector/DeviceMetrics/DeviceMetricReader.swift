import CollectorTunables
import RecordStore
import Registry
import WireModel

/// Keeps the newest values of devices, for `/metrics/devices`.
///
/// Each answer reads what devices have sent since the one before, in the order of receipt, and decodes each sample
/// once. So its cost follows what has come, not what is stored, with any engine of the record store.
/// The first answer reads as much as may be shown. In a cluster each collector does so for itself, from the same store,
/// so it does not matter which of them is asked.
///
/// A reader that goes away ends the reading after a page; the next one goes on from there. Answers at the same time may
/// read the same records, which changes nothing.
package actor DeviceMetricReader {
    private let store: any RecordStore
    private let metadata: MetadataService
    private(set) var settings: DeviceMetricSettings
    private var cache: DeviceMetricCache
    /// Changes with the metrics, so that what was read for others is not added.
    private var generation = 0
    /// Records received until then were read.
    private var readUpTo: Int64?
    private var names: [DeviceID: String] = [:]
    private var namesRead: Int64?

    init(store: any RecordStore, metadata: MetadataService, settings: DeviceMetricSettings = DeviceMetricSettings()) {
        self.store = store
        self.metadata = metadata
        self.settings = settings
        cache = DeviceMetricCache(settings.choice)
    }

    /// Applies other settings from the next answer on.
    package func apply(_ new: DeviceMetricSettings) {
        // A greater age shows records that were not kept.
        if new.choice != settings.choice || new.ageSeconds > settings.ageSeconds {
            cache = DeviceMetricCache(new.choice)
            generation += 1
            readUpTo = nil
        }
        settings = new
    }

    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - now: microseconds since 1970.
    func answer(
        _ organization: String?, withTest: Bool, as format: DeviceMetricText.Format, at now: Int64
    ) async throws -> DeviceMetricText {
        var organizations: [(name: String, devices: [DeviceID])] = []
        for known in try await metadata.organizations().map(\.name).sorted() {
            organizations.append((known, try await metadata.deviceIDs(organization: known, withTest: true)))
        }
        try await read(organizations.map(\.devices), at: now)
        let asked = organization.map { asked in organizations.filter { $0.name == asked } } ?? organizations
        let names = try await names(of: asked.flatMap(\.devices), at: now)
        let oldest = now - settings.ageSeconds * 1_000_000
        var (devices, counts): ([DeviceMetricText.Device], [DeviceMetricText.Count]) = ([], [])
        for organization in asked {
            var ids = organization.devices
            if !withTest { ids = try await metadata.deviceIDs(organization: organization.name, withTest: false) }
            var count = DeviceMetricText.Count(organization: organization.name)
            devices += choose(ids, names, oldest, withTest: withTest, &count)
            counts.append(count)
        }
        return DeviceMetricText(
            format: format, families: cache.families, devices: devices, counts: counts, limit: settings.maximumSeries)
    }

    /// The devices of an organization that are shown: the first ones by id, as long as all of their series have room.
    /// All after one that has not are left out. So the choice does not depend on when who sent what.
    private func choose(
        _ ids: [DeviceID], _ names: [DeviceID: String], _ oldest: Int64, withTest: Bool,
        _ count: inout DeviceMetricText.Count
    ) -> [DeviceMetricText.Device] {
        var (chosen, isFull): ([DeviceMetricText.Device], Bool) = ([], false)
        for id in ids {
            let metrics = cache.devices[id]?.shown(since: oldest, withTest: withTest) ?? []
            guard !metrics.isEmpty else {
                count.devicesWithoutValues += 1
                continue
            }
            let (fitting, all) = metrics.reduce((0, 0)) { ($0.0 + $1.values.fitting, $0.1 + $1.values.count) }
            isFull = isFull || count.series + fitting > settings.maximumSeries
            guard !isFull else {
                count.devicesLeftOut += 1
                count.seriesLeftOut += all
                continue
            }
            count.devices += 1
            count.series += fitting
            if all > fitting {
                count.devicesLeftOut += 1
                count.seriesLeftOut += all - fitting
            }
            chosen.append(
                DeviceMetricText.Device(id, name: names[id] ?? "", organization: count.organization, metrics))
        }
        return chosen
    }

    /// Reads what has come.
    private func read(_ organizations: [[DeviceID]], at now: Int64) async throws {
        let oldest = now - settings.ageSeconds * 1_000_000
        let margin = Tunables.DeviceMetrics.lateMicroseconds
        let query = RecordQuery(
            .among(Set(organizations.joined())), stream: .sample, kinds: cache.kinds,
            receivedSince: max(oldest, min(readUpTo ?? oldest, now) - margin))
        let began = generation
        var cursor: String?
        repeat {
            try Task.checkCancellation()
            let page = try await store.scan(query, after: cursor)
            // Other metrics were chosen meanwhile. This answer has none of them yet.
            guard generation == began else { return }
            cache.include(page.records)
            if let last = page.records.last { readUpTo = max(readUpTo ?? .min, last.receivedAt) }
            if cache.size > settings.maximumSeries * max(1, organizations.count) {
                cache.trim(organizations, to: settings.maximumSeries)
            }
            cursor = page.next
        } while cursor != nil
        cache.removeValues(before: oldest)
    }

    /// Names are read from time to time, and at once for devices that had none: a new device sends records before its
    /// name is known, and another name makes other series.
    private func names(of devices: [DeviceID], at now: Int64) async throws -> [DeviceID: String] {
        let shown = devices.filter { cache.devices[$0] != nil }
        let isOld = namesRead.map { now - $0 >= Tunables.DeviceMetrics.namesMicroseconds || $0 > now } ?? true
        if isOld {
            names = [:]
            namesRead = now
        }
        let new = Set(shown.filter { names[$0, default: ""].isEmpty })
        guard !new.isEmpty else { return names }
        let read = try await metadata.names(of: new)
        for device in new { names[device] = read[device] ?? "" }
        return names
    }
}
