import CollectorAPI
import Registry
import WireModel

extension DeviceFacetsView {
    init(_ found: DeviceFacets) {
        self.init()
        total = found.total
        facets.state = Facet(found.state) { $0.rawValue }
        facets.os = Facet(found.operatingSystem) { $0 }
        facets.agentVersion = Facet(found.agentVersion) { $0 }
        facets.application = Facet(found.application) { $0 }
        facets.applicationVersion = Facet(found.applicationVersion) { $0 }
        facets.compliance = Facet(found.compliance) { value in
            DeviceQuery.complianceWords.first { $0.value == value }?.word
        }
        facets.compromised = Facet(found.compromised) { value in
            DeviceQuery.compromisedWords.first { $0.value == value }?.word
        }
        facets.profileRevision = Facet(found.profileRevision) { $0.map(String.init) }
    }
}

extension DeviceFacetsView.Facet {
    fileprivate init<Value>(_ facet: DeviceFacet<Value>, word: (Value) -> String?) {
        self.init()
        values = facet.values.map { DeviceFacetsView.Count(value: word($0.value), devices: $0.devices) }
        guard facet.furtherValues > 0 else { return }
        further = DeviceFacetsView.Further(values: facet.furtherValues, devices: facet.furtherDevices)
    }
}
