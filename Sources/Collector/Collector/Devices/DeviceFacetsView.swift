import CollectorStore
import WireModel

/// How many devices have each value of what lists are filtered by. Facets have the names of the lists' parameters.
struct DeviceFacetsView: Encodable {
    struct Facet: Encodable {
        /// The values that most devices have, the most frequent first.
        var values: [Count]
        /// The other values; absent if there are none.
        var further: Further?
    }

    struct Count: Encodable {
        /// The value as the parameter accepts it; `null` for devices that reported none.
        var value: String?
        var devices: Int

        private enum Key: CodingKey { case value, devices }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(value, forKey: .value)
            try container.encode(devices, forKey: .devices)
        }
    }

    struct Further: Encodable {
        var values: Int
        var devices: Int
    }

    struct Facets: Encodable {
        var state: Facet
        var os: Facet
        var agentVersion: Facet
        var application: Facet
        var applicationVersion: Facet
        var compliance: Facet
        var compromised: Facet
        var profileRevision: Facet
    }

    /// Devices that match every filter.
    var total: Int
    var facets: Facets

    init(_ found: DeviceFacets) {
        total = found.total
        facets = Facets(
            state: Facet(found.state) { $0.rawValue }, os: Facet(found.operatingSystem) { $0 },
            agentVersion: Facet(found.agentVersion) { $0 }, application: Facet(found.application) { $0 },
            applicationVersion: Facet(found.applicationVersion) { $0 },
            compliance: Facet(found.compliance) { value in
                DeviceQuery.complianceWords.first { $0.value == value }?.word
            },
            compromised: Facet(found.compromised) { value in
                DeviceQuery.compromisedWords.first { $0.value == value }?.word
            },
            profileRevision: Facet(found.profileRevision) { $0.map(String.init) })
    }
}

extension DeviceFacetsView.Facet {
    fileprivate init<Value>(_ facet: DeviceFacet<Value>, word: (Value) -> String?) {
        values = facet.values.map { DeviceFacetsView.Count(value: word($0.value), devices: $0.devices) }
        guard facet.furtherValues > 0 else { return }
        further = DeviceFacetsView.Further(values: facet.furtherValues, devices: facet.furtherDevices)
    }
}
