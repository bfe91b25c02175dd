/// Where a part reports what happened to it. The part does not know who hears it.
package struct EventSink<Event: Sendable>: Sendable {
    private let receive: @Sendable (Event) -> Void

    /// - Parameter receive: is called on the thread of whoever reports; it should only record and wake.
    package init(_ receive: @escaping @Sendable (Event) -> Void) { self.receive = receive }

    /// Nobody hears it.
    package static var none: Self { Self { _ in } }

    /// Safe from any thread, never blocks.
    package func post(_ event: Event) { receive(event) }
}
