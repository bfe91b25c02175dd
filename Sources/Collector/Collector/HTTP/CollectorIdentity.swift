import HTTPTypes
import WireModel

/// Names this collector in every response, so a device can distinguish it from a captive portal or a wrong host.
package struct CollectorIdentity: Sendable, Equatable {
    package let version: String
    package let collector: CollectorID
    package let incarnation: IncarnationID

    /// Whether answers say that this host uses HTTPS only (HSTS, RFC 6797).
    package let strictTransport: Bool
    // The form in answers.
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
        // A year, which browsers' lists require at least.
        if strictTransport { fields[.strictTransportSecurity] = "max-age=31536000" }
    }
}

package enum CollectorVersion {
    /// A semantic version. Its first component is the wire's major version.
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
