import HTTPTypes
import WireModel

/// Who answers: on every response, so that a device can tell its collector from a captive portal or a wrong host.
package struct CollectorIdentity: Sendable, Equatable {
    package let version: String
    package let collector: CollectorID
    package let incarnation: IncarnationID

    /// Whether answers say that this host is for HTTPS only (HSTS, RFC 6797).
    package let strictTransport: Bool
    // As every answer says them.
    private let collectorText: String
    private let incarnationText: String

    package init(
        version: String = CollectorVersion.current, collector: CollectorID, incarnation: IncarnationID,
        strictTransport: Bool = false
    ) {
        self.strictTransport = strictTransport
        (collectorText, incarnationText) = (collector.description, incarnation.description)
        self.version = version
        self.collector = collector
        self.incarnation = incarnation
    }

    func add(to fields: inout HTTPFields) {
        fields[.collectorVersion] = version
        fields[.collectorID] = collectorText
        fields[.incarnationID] = incarnationText
        // A year, as browsers' lists ask for at least.
        if strictTransport { fields[.strictTransportSecurity] = "max-age=31536000" }
    }
}

package enum CollectorVersion {
    /// Semantic version; its first component is the wire's major version.
    package static let current = "1.0.0"
}

extension HTTPField.Name {
    static func known(_ name: String) -> HTTPField.Name {
        guard let field = HTTPField.Name(name) else { preconditionFailure("\(name) is not a header name") }
        return field
    }

    static let collectorVersion = known(WireNames.versionHeader)
    static let collectorID = known(WireNames.collectorHeader)
    static let incarnationID = known(WireNames.incarnationHeader)
}
