import FoundationEssentials

/// One message of MQTT 5, to or from a broker. Quality of service is always 1.
package struct MQTTMessage: Equatable, Sendable {
    package struct Property: Equatable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Received messages with more user properties, or more bytes of them, are marked.
    package static let maximumProperties = 64
    package static let maximumPropertyBytes = 16 * 1024

    package var topic: String
    package var payload: Data
    /// The broker keeps it for later subscribers. Of a received one: it was kept.
    package var isRetained = false
    package var responseTopic: String?
    package var correlation: Data?
    /// After this many seconds the broker throws it away; `nil`: never.
    package var expirySeconds: UInt32?
    /// User properties, in their order.
    package var properties: [Property] = []
    /// It was received with more user properties than are read; the rest is missing.
    package var hasTooManyProperties = false

    package init(topic: String, payload: Data = Data(), isRetained: Bool = false, properties: [Property] = []) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.properties = properties
    }

    /// The value of the first user property with the name.
    package subscript(_ name: String) -> String? { properties.first { $0.name == name }?.value }
}
