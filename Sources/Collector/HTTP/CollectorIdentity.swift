import HTTPTypes
import WireModel

/// Who answers: on every response, so that a device can tell its collector from a captive portal or a wrong host.
package struct CollectorIdentity: Sendable, Equatable {
    package let version: String
    package let collector: CollectorID
    package let incarnation: IncarnationID

    package init(version: String = CollectorVersion.current, collector: CollectorID, incarnation: IncarnationID) {
        self.version = version
        self.collector = collector
        self.incarnation = incarnation
    }

    func add(to fields: inout HTTPFields) {
        fields[.collectorVersion] = version
        fields[.collectorID] = collector.description
        fields[.incarnationID] = incarnation.description
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
