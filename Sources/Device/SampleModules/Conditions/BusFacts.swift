/// What the machine's network services know of the connection; `nil` where they are not there or do not say.
package struct BusFacts: Equatable, Sendable {
    package var metered: Bool?
    package var roaming: Bool?

    package init(metered: Bool? = nil, roaming: Bool? = nil) {
        self.metered = metered
        self.roaming = roaming
    }
}

/// Asks the network services: the port between the conditions and the system's message bus.
package protocol BusFactsSource: Sendable {
    /// - Parameter cellular: whether the default route leaves by a modem; only then is one asked about roaming.
    /// - Returns: `nil` where nobody answered in time.
    func facts(cellular: Bool) -> BusFacts?
}
