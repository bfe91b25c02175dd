import FoundationEssentials
import WireModel

/// What consent asks of the queue.
protocol ConsentQueue: Sendable {
    /// Keeps a record out of its stream, counted as waiting.
    func keepApart(_ record: NewRecord) async throws(DataSamplerError)
    /// Moves what is kept apart into its streams, in order. Interrupted, it goes on when called again.
    /// - Returns: how many were moved.
    func releaseKept() async throws(DataSamplerError) -> Int
    /// Deletes what is kept apart, counted under `consent`.
    func deleteKept() async throws(DataSamplerError)
    /// Deletes the events and samples that wait to be sent, counted under `consent`.
    func deleteWaiting() async throws(DataSamplerError)
    /// Counts a record that was not made under `consent`.
    func countRefused(_ stream: StreamName)
    /// The copy of the file of the decision, as last kept; `nil`: there is none.
    func consentCopy() throws(DataSamplerError) -> Data?
    /// Replaces the copy; on synced disk when this returns.
    func keepConsentCopy(_ content: Data) throws(DataSamplerError)
}
