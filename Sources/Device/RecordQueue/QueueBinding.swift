import WireModel

/// Whom a queue's records are for. The first one binds; pointed elsewhere the queue holds.
package struct QueueBinding: Equatable, Sendable {
    package var collector: CollectorID
    package var organization: String
    package var device: DeviceID

    package init(collector: CollectorID, organization: String, device: DeviceID) {
        self.collector = collector
        self.organization = organization
        self.device = device
    }
}

/// What came of binding a queue.
package enum BindingOutcome: Equatable, Sendable {
    /// It was bound to nobody and is now bound.
    case bound
    /// It is bound to this very one.
    case same
    /// It is bound to another, and stays so.
    case other(QueueBinding)
}
