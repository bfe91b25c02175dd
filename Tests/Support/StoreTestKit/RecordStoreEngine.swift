import RecordStore

/// A record store with its surroundings, as the conformance suite needs it: time, restarts and faults are injected, and
/// nothing is assumed about where the store runs. An engine of another kind implements this and runs the same suite.
package protocol RecordStoreEngine: AnyObject {
    /// The running one; another after a restart.
    var store: any RecordStore { get }
    var clock: ManualStoreClock { get }
    /// The process is killed and starts again on what it had made durable.
    func crash() async throws
    /// The process ends in order and starts again.
    func restart() async throws
    /// Nothing more can be stored until `freeDisk`.
    /// - Returns: whether that could be brought about here.
    func fillDisk() async throws -> Bool
    func freeDisk() async throws
    /// A store over a backup that is made now; `nil` where the engine leaves backups to others.
    func restored() async throws -> (any RecordStore)?
    func close() async
}
