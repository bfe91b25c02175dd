import FoundationEssentials
import SwiftProtobuf

/// Which sender a resource is of, by the first rule that applies to its attributes.
///
/// Every receiver finds the same identity in the same resource, whatever the order of its attributes. So nobody needs
/// to be asked. It is no proof: a sender says of itself who it is.
package struct OTLPResourceIdentity: Hashable, Sendable {
    package enum Rule: String, Sendable, CaseIterable {
        /// The attribute `host.id`.
        case host
        /// The attribute `service.instance.id`, which is unique only with the service's namespace and name.
        case serviceInstance = "service-instance"
        /// All attributes, except for those that change whenever the program starts.
        case attributes
    }

    package let rule: Rule
    /// The parts that identify, each with its length before it, so that no two lists of parts have the same bytes.
    package let value: [UInt8]

    /// - Parameter resource: one that ``OTLPRequest/removeForbidden()`` has passed: no key is there twice.
    package init(_ resource: OTLPResource) {
        if let host = resource.text("host.id") {
            self.init(.host, [Array(host.utf8)])
        } else if let instance = resource.text("service.instance.id") {
            let service = ["service.namespace", "service.name"].map { resource.text($0) ?? "" }
            self.init(.serviceInstance, (service + [instance]).map { Array($0.utf8) })
        } else {
            // A process has another id and a library another version without being another sender.
            let lasting = resource.attributes.filter { attribute in
                !["process.", "telemetry."].contains { attribute.key.utf8.starts(with: $0.utf8) }
            }
            self.init(
                .attributes,
                lasting.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { $0.bytes })
        }
    }

    private init(_ rule: Rule, _ parts: [[UInt8]]) {
        self.rule = rule
        value = parts.flatMap { part in
            (0..<8).map { UInt8(truncatingIfNeeded: part.count >> (8 * (7 - $0))) } + part
        }
    }
}

extension OTLPResource {
    /// The text of an attribute; `nil` if there is none, or it is empty or no text.
    package func text(_ key: String) -> String? {
        let attribute = attributes.first { $0.key.utf8.elementsEqual(key.utf8) }
        guard case .stringValue(let text)? = attribute?.value.value, !text.isEmpty else { return nil }
        return text
    }
}

extension OTLPKeyValue {
    /// Fields are written in the order of their numbers, and there is no map, so equal attributes have equal bytes.
    fileprivate var bytes: [UInt8] {
        do { return try serializedBytes() } catch {
            // It has no required field, and its texts are valid UTF-8.
            preconditionFailure("an attribute does not serialize: \(error)")
        }
    }
}
