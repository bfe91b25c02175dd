import SwiftProtobuf

/// A sample message whose numeric fields the catalog knows.
package protocol CatalogedSample: Message {
    /// What each field is.
    static var metricCatalog: [CatalogEntry<Self>] { get }
    /// Numeric fields, enumerations and truth values that are attributes of their neighbours' metrics, by their path.
    static var attributeFields: [String: String] { get }
}

extension WireSystemSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.system }
    package static var attributeFields: [String: String] { MetricCatalog.systemAttributeFields }
}

extension WireAnalyticsSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.analytics }
    package static var attributeFields: [String: String] { [:] }
}

extension WireNetworkDataSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.networkData }
    package static var attributeFields: [String: String] {
        ["classes.class": "ws1.network.class", "interfaces.class": "ws1.network.class"]
    }
}

extension WireNetworkAdapterSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.networkAdapter }
    package static var attributeFields: [String: String] {
        [
            "adapters.index": "ws1.network.interface.index", "adapters.class": "ws1.network.class",
            "adapters.addresses.prefix_length": "ws1.network.prefix.length",
        ]
    }
}

extension WireWLANSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.wlan }
    package static var attributeFields: [String: String] { ["interfaces.channel": "ws1.wlan.channel"] }
}

extension WireGPSSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.gps }
    package static var attributeFields: [String: String] { ["location.time": "ws1.gps.time"] }
}
