/// Hears what the transmitter learns. Calls come one after the other, from no particular task.
package protocol TransmitterDelegate: Sendable {
    /// What rode on a decided answer. Awaited before the pass goes on; should only note and wake.
    func received(_ news: CollectorNews) async
    /// Awaited before the pass goes on; should only note and wake.
    func stateChanged(_ change: TransmitterChange) async
}
