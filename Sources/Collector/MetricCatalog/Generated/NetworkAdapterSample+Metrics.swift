// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension Definitions {
    static let ws1_network_mtu = MetricDefinition(
        name: "ws1.network.mtu", unit: "By", kind: .gauge,
        description: "Largest packet that the adapter takes")
    static let ws1_network_carrier_changes = MetricDefinition(
        name: "ws1.network.carrier.changes", unit: "{change}", kind: .cumulativeCounter,
        description: "How often the link came or went since the adapter was created")
    static let hw_network_bandwidth_limit = MetricDefinition(
        name: "hw.network.bandwidth.limit", unit: "By/s", kind: .upDownCounter,
        description: "Link speed")
    static let hw_network_up = MetricDefinition(
        name: "hw.network.up", unit: "1", kind: .upDownCounter,
        description: "1 while the link is up, else 0")
}

extension WireNetworkAdapterSample: CatalogedSample {
    package static let metricCatalog = entries()

    private static func entries() -> [CatalogEntry<WireNetworkAdapterSample>] {
        var entries: [CatalogEntry<WireNetworkAdapterSample>] = []
        entries.append(
            CatalogEntry(field: "adapters.mtu", metric: Definitions.ws1_network_mtu) { sample, emit in
                for element in sample.adapters {
                    if element.mtu != 0 {
                        var attributes: MetricAttributes = [
                            "network.interface.name": .text(element.name),
                            "ws1.network.interface.index": .integer(Int64(clamping: element.index)),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.mtu), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "adapters.carrier_changes", metric: Definitions.ws1_network_carrier_changes) {
                sample, emit in
                for element in sample.adapters {
                    if element.hasCarrierChanges {
                        var attributes: MetricAttributes = [
                            "network.interface.name": .text(element.name),
                            "ws1.network.interface.index": .integer(Int64(clamping: element.index)),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.carrierChanges), attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "adapters.speed_megabits", metric: Definitions.hw_network_bandwidth_limit) {
                sample, emit in
                for element in sample.adapters {
                    if element.hasSpeedMegabits {
                        var attributes: MetricAttributes = [
                            "network.interface.name": .text(element.name), "hw.id": .text(element.name),
                            "ws1.network.interface.index": .integer(Int64(clamping: element.index)),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(Double(element.speedMegabits) * 125_000, attributes, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "adapters.up", metric: Definitions.hw_network_up) { sample, emit in
                for element in sample.adapters {
                    if element.hasUp {
                        var attributes: MetricAttributes = [
                            "network.interface.name": .text(element.name), "hw.id": .text(element.name),
                            "ws1.network.interface.index": .integer(Int64(clamping: element.index)),
                        ]
                        if let name = element.class.attributeValue { attributes["ws1.network.class"] = .text(name) }
                        emit(element.up ? 1 : 0, attributes, nil)
                    }
                }
            })
        return entries
    }

    package var sampleInterval: UInt64? {
        nil
    }
}
