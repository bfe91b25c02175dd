/// How many devices have each value of what lists are filtered by. Facets have the names of the lists' parameters.
package struct DeviceFacetsView: Codable, Equatable, Sendable {
    package struct Facet: Codable, Equatable, Sendable {
        /// The values that most devices have, the most frequent first.
        package var values: [Count] = []
        /// The other values; absent if there are none.
        package var further: Further?

        package init() {}
    }

    package struct Count: Codable, Equatable, Sendable {
        /// The value as the parameter accepts it; `null` for devices that reported none.
        package var value: String?
        package var devices: Int

        private enum Key: CodingKey { case value, devices }

        package init(value: String?, devices: Int) { (self.value, self.devices) = (value, devices) }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(value, forKey: .value)
            try container.encode(devices, forKey: .devices)
        }
    }

    package struct Further: Codable, Equatable, Sendable {
        package var values: Int
        package var devices: Int

        package init(values: Int, devices: Int) { (self.values, self.devices) = (values, devices) }
    }

    package struct Facets: Codable, Equatable, Sendable {
        package var state = Facet()
        package var os = Facet()
        package var agentVersion = Facet()
        package var application = Facet()
        package var applicationVersion = Facet()
        package var compliance = Facet()
        package var compromised = Facet()
        package var profileRevision = Facet()

        package init() {}
    }

    /// Devices that match every filter.
    package var total = 0
    package var facets = Facets()

    package init() {}
}

extension APIOperation where Answer == DeviceFacetsView {
    package static var listDeviceFacets: Self { Self("GET", "/api/v1/devices/facets") }
}
