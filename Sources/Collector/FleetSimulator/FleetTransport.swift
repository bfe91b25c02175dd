import FoundationEssentials

/// The way from the fleet to its collector.
package protocol FleetTransport: Sendable {
    /// - Returns: `nil` where no answer came, for whatever reason.
    func send(_ request: FleetRequest) async -> FleetAnswer?
}

package struct FleetRequest: Sendable {
    package var method = "GET"
    /// With its parameters.
    package var path: String
    package var bearer: String
    /// Protobuf.
    package var body: Data?
    package var isGzip = false
    /// The connection ends in the middle of the body.
    package var isCut = false
}

package struct FleetAnswer: Sendable {
    package var status: Int
    package var body: Data

    package init(status: Int, body: Data) {
        self.status = status
        self.body = body
    }
}
