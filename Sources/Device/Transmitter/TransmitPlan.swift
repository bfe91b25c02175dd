import WireModel

/// What the next request may hold: the first of `requests` that has anything due is sent.
package struct TransmitPlan: Equatable, Sendable {
    package struct Part: Equatable, Sendable {
        package var stream: StreamName
        package var maximumBytes: Int
        package var maximumRecords: Int

        package init(stream: StreamName, maximumBytes: Int, maximumRecords: Int) {
            self.stream = stream
            self.maximumBytes = maximumBytes
            self.maximumRecords = maximumRecords
        }
    }

    package var requests: [[Part]]

    /// All parts, in the order they are looked at.
    package var parts: [Part] { requests.flatMap { $0 } }

    /// Streams that share a request go together but for those that have to go alone; no stream waits behind a lower one.
    /// - Parameters:
    ///   - alone: in the order of importance, as `together`.
    ///   - part: how much of a stream may go.
    init(alone: [StreamName], together: [StreamName], part: (StreamName) -> Part) {
        requests = []
        var given = 0
        for stream in alone {
            let above = together.prefix { $0 < stream }
            if above.count > given { requests.append(above[given...].map(part)) }
            given = max(given, above.count)
            requests.append([part(stream)])
        }
        if together.count > given { requests.append(together[given...].map(part)) }
    }
}
