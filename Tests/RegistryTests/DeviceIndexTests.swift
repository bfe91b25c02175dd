import Foundation
import Testing
import WireModel

@testable import Registry

@Suite struct DeviceIndexTests {
    private static let now: Int64 = 1_000_000_000_000

    private static func device(_ number: Int, _ change: (inout DeviceRow) -> Void = { _ in }) -> DeviceRow {
        var system = WireOperatingSystem()
        (system.name, system.distribution, system.version) = (
            "linux", number.isMultiple(of: 2) ? "Debian" : "ubuntu", "12"
        )
        var device = DeviceRow(
            id: DeviceID(high: UInt64(number % 7), low: UInt64(number)),
            organization: number.isMultiple(of: 10) ? "other" : "default",
            name: "Kiosk-\(number % 13)", operatingSystem: system, agentVersion: "1.\(number % 3).0",
            application: number.isMultiple(of: 4) ? "com.example.shop" : "", machineHash: "m",
            test: number.isMultiple(of: 11), created: 0,
            enrolled: now - Int64(number % 17))
        if number.isMultiple(of: 3) { device.lastSeen = Int64(number % 5) }
        change(&device)
        return device
    }

    private static func index(_ devices: [DeviceRow]) -> DeviceIndex {
        let index = DeviceIndex()
        devices.forEach(index.insert)
        return index
    }

    private static func ids(_ index: DeviceIndex, _ change: (inout DeviceQuery) -> Void) -> [DeviceID] {
        var query = DeviceQuery()
        change(&query)
        return index.page(query, after: nil, limit: 1000, at: now).ids
    }

    @Test(arguments: DeviceQuery.Sort.allCases, [false, true])
    func `Pages of every order have every match once and in order`(sort: DeviceQuery.Sort, isDescending: Bool) {
        let devices = (1...200).map { Self.device($0) }
        let index = Self.index(devices)
        var query = DeviceQuery(organization: "default")
        (query.sort, query.isDescending) = (sort, isDescending)
        let expected = devices.filter { $0.organization == "default" && !$0.test }
        for limit in [1, 7, 1000] {
            var found: [DeviceID] = []
            var position: DevicePosition?
            repeat {
                let page = index.page(query, after: position, limit: limit, at: Self.now)
                #expect(page.ids.count <= limit && page.total == expected.count)
                found += page.ids
                position = page.next
            } while position != nil
            #expect(found.count == expected.count && Set(found) == Set(expected.map(\.id)))
            let rows = found.compactMap { id in devices.first { $0.id == id } }
            let keys = rows.map { row -> (String, Int64) in
                switch sort {
                case .id: ("", 0)
                case .name: (row.name.lowercased(), 0)
                case .lastSeen: ("", row.lastSeen ?? .min)
                case .enrolled: ("", row.enrolled)
                case .state: ("", 0)
                }
            }
            for (former, later) in zip(zip(keys, rows), zip(keys, rows).dropFirst()) {
                let (first, second) = isDescending ? (later, former) : (former, later)
                let left = (first.0.0, first.0.1, first.1.id.high, first.1.id.low)
                let right = (second.0.0, second.0.1, second.1.id.high, second.1.id.low)
                #expect(left < right)
            }
        }
    }

    @Test func `Words are found in either case in whatever a searcher knows of a device`() {
        var beacon = WireBeacon()
        beacon.userEmail = "Ann.Lee@example.com"
        beacon.model = "OptiPlex 7010"
        let device = Self.device(2) { $0.beacon = beacon }
        let index = Self.index([device, Self.device(3)])
        for text in [
            "ann", "ANN.LEE", "kiosk-2", "optiplex", "DEBIAN 12", "debian optiplex lee", device.id.description,
            String(device.id.description.prefix(30)),
        ] {
            #expect(Self.ids(index) { $0.text = text }.contains(device.id), "\(text)")
        }
        #expect(Self.ids(index) { $0.text = "lee ubuntu" }.isEmpty)
        #expect(Self.ids(index) { $0.text = "linux" }.count == 2)
        #expect(Self.ids(index) { $0.text = "  " }.count == 2)
    }

    @Test func `A renamed device is listed under its newest name and found by both`() {
        var beacon = WireBeacon()
        beacon.deviceName = "Aisle-17"
        var renamed = Self.device(4) { $0.beacon = beacon }
        let index = Self.index([Self.device(2), renamed])
        #expect(renamed.newestName == "Aisle-17")
        #expect(Self.ids(index) { $0.text = "aisle-17" } == [renamed.id])
        #expect(Self.ids(index) { $0.text = "kiosk-4" } == [renamed.id])
        #expect(Self.ids(index) { $0.sort = .name } == [renamed.id, Self.device(2).id])
        renamed.beacon?.deviceName = ""
        #expect(renamed.newestName == "Kiosk-4", "a profile may drop the name from beacons")
        renamed.beacon?.deviceName = String(repeating: "x", count: 10_000)
        #expect(renamed.newestName.utf8.count == WireEnrollRequest.textBytes)
    }

    @Test func `Filters are what the newest records say`() {
        let index = Self.index([Self.device(1), Self.device(2)])
        let id = Self.device(1).id
        var beacon = WireBeacon()
        beacon.libraryVersion = "2.0.0"
        beacon.deviceCompliance = .compliant
        beacon.applicationCompliance = .nonCompliant
        beacon.compromised = .yes
        beacon.operatingSystem.name = "linux"
        beacon.operatingSystem.distribution = "fedora"
        beacon.operatingSystem.version = "40"
        #expect(index.record(DeviceObservation(at: 9, expectedBeaconSeconds: 60, profileRevision: 4), of: id))
        #expect(!index.record(DeviceObservation(at: 9, beacon: beacon), of: id), "that needs the whole row")
        index.insert(
            Self.device(1) { row in
                row.beacon = beacon
                row.verdicts = DeviceVerdicts(
                    of: beacon, at: 9, made: RecordStamp(wallTime: 9, bootID: nil, timeSinceBoot: 0))
                row.expectedBeaconSeconds = 60
            })
        #expect(Self.ids(index) { $0.agentVersion = "2.0.0" } == [id])
        #expect(Self.ids(index) { $0.agentVersion = "1.1.0" }.isEmpty)
        #expect(Self.ids(index) { $0.compliance = .nonCompliant } == [id])
        #expect(Self.ids(index) { $0.compliance = .unknown }.count == 1)
        #expect(Self.ids(index) { $0.compromised = .yes } == [id])
        #expect(Self.ids(index) { $0.operatingSystem = "Fedora 40" } == [id])
        #expect(Self.ids(index) { $0.operatingSystem = "LINUX" }.count == 2)
        #expect(Self.ids(index) { $0.states = [.reporting] } == [id])
        #expect(Self.ids(index) { $0.states = [.enrolled, .reporting] }.count == 2)
        index.remove(id)
        #expect(Self.ids(index) { $0.states = [.reporting] }.isEmpty)
    }

    @Test func `Adoption counts what devices say they run`() {
        let index = Self.index((1...8).map { Self.device($0) } + [Self.device(9) { $0.revoked = 1 }])
        for number in 1...3 {
            #expect(index.record(DeviceObservation(at: 1, profileRevision: 5), of: Self.device(number).id))
        }
        let adoption = index.adoption(organization: "default", withTest: false)
        #expect(
            adoption.map { "\($0.key.application) \($0.key.revision.map(String.init) ?? "-") \($0.devices)" }
                == [" - 3", " 5 3", "com.example.shop - 2"])
    }

    @Test func `Test devices count in the adoption only if they are asked for`() {
        let index = Self.index([Self.device(1), Self.device(11), Self.device(22)])
        func devices(withTest: Bool) -> Int {
            index.adoption(organization: "default", withTest: withTest).reduce(0) { $0 + $1.devices }
        }
        #expect(devices(withTest: false) == 1 && devices(withTest: true) == 3)
    }

    // MARK: Facets

    /// Devices that differ in everything that has a facet.
    private static func variousDevices(_ count: Int) -> [DeviceRow] {
        (1...count).map { number in
            device(number) { row in
                row.enrolled = 0
                if number.isMultiple(of: 9) { row.revoked = 1 }
                if number.isMultiple(of: 5) { row.profileRevision = UInt64(number % 4) }
                guard !number.isMultiple(of: 4) else { return }
                var beacon = WireBeacon()
                beacon.applicationVersion = number.isMultiple(of: 6) ? "" : "7.\(number % 5)"
                beacon.deviceCompliance = number.isMultiple(of: 2) ? .compliant : .nonCompliant
                beacon.compromised = number.isMultiple(of: 10) ? .yes : .no
                row.beacon = beacon
                row.verdicts = DeviceVerdicts(
                    of: beacon, at: 9, made: RecordStamp(wallTime: 9, bootID: nil, timeSinceBoot: 0))
                row.expectedBeaconSeconds = 60
                row.lastBeacon = now - Int64(number % 8) * 60_000_000
                if number.isMultiple(of: 13) { row.operatingSystem = WireOperatingSystem() }
            }
        }
    }

    /// A query with one filter of each facet that the number chooses.
    private static func query(_ number: Int) -> DeviceQuery {
        var query = DeviceQuery(organization: number.isMultiple(of: 3) ? nil : "default")
        if number & 1 != 0 { query.states = [.reporting, .revoked] }
        if number & 2 != 0 { query.operatingSystem = "debian 12" }
        if number & 4 != 0 { query.agentVersion = "1.1.0" }
        if number & 8 != 0 { query.application = number.isMultiple(of: 5) ? "com.example.shop" : "" }
        if number & 16 != 0 { query.applicationVersion = "7.1" }
        if number & 32 != 0 { query.compliance = .nonCompliant }
        if number & 64 != 0 { query.compromised = .no }
        if number & 128 != 0 {
            query.profileRevision = number.isMultiple(of: 5) ? DeviceQuery.Revision.none : .number(1)
        }
        if number.isMultiple(of: 7) { query.text = "kiosk 1" }
        query.withTest = number.isMultiple(of: 11)
        return query
    }

    @Test func `Every count of a facet is the length of the list that its value selects`() {
        let devices = Self.variousDevices(180)
        let index = Self.index(devices)
        /// As many values as the list of all devices has, each counted by the list with that filter.
        func expect<Value: Hashable>(
            _ facet: DeviceFacet<Value>, _ query: DeviceQuery, _ name: String, all: Set<Value>,
            _ choose: (inout DeviceQuery, Value) -> Void
        ) {
            let counts = Dictionary(uniqueKeysWithValues: facet.values.map { ($0.value, $0.devices) })
            for value in all.union(counts.keys) {
                var chosen = query
                choose(&chosen, value)
                let total = index.page(chosen, after: nil, limit: 1, at: Self.now).total
                #expect(counts[value, default: 0] == total, "\(name) \(value) of \(query)")
            }
            let frequencies = facet.values.map(\.devices)
            #expect(frequencies == frequencies.sorted(by: >) && facet.furtherValues == 0)
        }
        for number in 0..<256 {
            let query = Self.query(number)
            let facets = index.facets(query, at: Self.now)
            #expect(facets.total == index.page(query, after: nil, limit: 1, at: Self.now).total)
            expect(facets.state, query, "state", all: Set(ReportingState.allCases)) { $0.states = [$1] }
            expect(facets.operatingSystem, query, "os", all: [nil, "debian 12", "ubuntu 12"]) {
                $0.operatingSystem = $1 ?? ""
            }
            expect(facets.agentVersion, query, "agentVersion", all: ["1.0.0", "1.1.0", "1.2.0"]) {
                $0.agentVersion = $1 ?? ""
            }
            expect(facets.application, query, "app", all: [nil, "com.example.shop"]) { $0.application = $1 ?? "" }
            expect(facets.applicationVersion, query, "applicationVersion", all: [nil, "7.1", "7.4"]) {
                $0.applicationVersion = $1 ?? ""
            }
            expect(facets.compliance, query, "compliance", all: Set(WireCompliance.allCases)) { $0.compliance = $1 }
            expect(facets.compromised, query, "compromised", all: Set(WireVerdict.allCases)) { $0.compromised = $1 }
            expect(facets.profileRevision, query, "profileRevision", all: [nil, 0, 1, 2, 3]) {
                $0.profileRevision = .init($1)
            }
        }
        #expect(index.facets(DeviceQuery(), at: Self.now).state.values.count > 3, "the devices differ")
    }

    @Test func `A facet of very many values shows the most frequent and counts the others`() {
        let index = Self.index(
            (0..<500).map { number in
                Self.device(number + 1) { row in
                    row.test = false
                    // Version 0 is on 251 devices, the other 249 versions on one each.
                    row.agentVersion = "\(max(0, number - 250))"
                }
            })
        let facet = index.facets(DeviceQuery(), at: Self.now).agentVersion
        #expect(facet.values.count == 100 && facet.values.first == .init(value: "0", devices: 251))
        #expect(facet.values.dropFirst().allSatisfy { $0.devices == 1 })
        #expect(facet.furtherValues == 150 && facet.furtherDevices == 150)
    }

    @Test func `What no device has any more is forgotten`() {
        let index = Self.index(Self.variousDevices(50))
        for round in 1...20 {
            for device in Self.variousDevices(50) {
                var row = device
                row.agentVersion = "made up \(device.id) in \(round)"
                row.beacon?.profileFindings = ["finding \(device.id) in \(round)"]
                index.insert(row)
            }
        }
        let facet = index.facets(DeviceQuery(), at: Self.now).agentVersion
        #expect(facet.values.allSatisfy { $0.value?.hasSuffix("in 20") == true })
        #expect(index.sharedValues < 50 * 4, "those of two rounds at most are kept at a time")
        Self.variousDevices(50).forEach { index.remove($0.id) }
        var values = DeviceIndexEntry.Values()
        let entry = DeviceIndexEntry(Self.variousDevices(3)[0], sharing: &values)
        #expect(values.texts.number(of: "default") != nil)
        entry.giveBack(to: &values)
        #expect(values.texts.number(of: "default") == nil && values.texts.number(of: "1.1.0") == nil)
        #expect(index.facets(DeviceQuery(), at: Self.now) == DeviceFacets())
    }
}
