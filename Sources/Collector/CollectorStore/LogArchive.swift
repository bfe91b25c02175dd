import FoundationEssentials
import WireModel

/// The logs that devices have sent: the port that every storage engine implements.
///
/// A call that changes something returns once that is on synced disk, or throws and has changed nothing. Safe to call from any number of
/// tasks. Who asks is decided before: a device is the one of its credential, an organization that of a person's token.
package protocol LogArchive: Sendable {
    // MARK: What devices do

    /// Begins an upload; again with the same manifest, it tells where the upload stands.
    func begin(_ manifest: UploadManifest, from device: DeviceRow) async throws(UploadError) -> UploadStanding
    func standing(of upload: UploadID, from device: DeviceID) async throws(UploadError) -> UploadStanding

    /// Keeps a chunk if its bytes are what the manifest tells of. Again, it changes nothing.
    /// - Parameter bytes: gzip members.
    func store(_ bytes: Data, chunk number: Int, of upload: UploadID, from device: DeviceID) async throws(UploadError) -> UploadStanding

    /// The device has sent all it has. What it says is gone is not missing any more; what has come stays.
    func complete(_ upload: UploadID, gone: [UploadStanding.GoneChunk], from device: DeviceID) async throws(UploadError) -> UploadStanding

    // MARK: What people ask

    /// Chunks that may hold lines a query matches, newest first; what only the text can tell (categories, words) is not looked at.
    /// - Parameters:
    ///   - id: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    func chunks(_ query: LogQuery, below id: Int64?, limit: Int) async throws(StoreError) -> ChunkPage

    /// The lines a query matches, each once however often it was sent. What comes or is deleted meanwhile may be told or not.
    func content(_ query: LogQuery, as form: LogForm) async throws(StoreError) -> any LogContent

    /// What a deletion would take: every chunk that `chunks` tells of.
    func deletion(_ query: LogQuery) async throws(StoreError) -> LogDeletion

    /// Deletes it. A chunk that was deleted is not taken again.
    /// - Parameters:
    ///   - confirmation: of what was told; `nil` is answered, and nothing deleted, where it is not what there is any more.
    ///   - actor: who does it, for the audit trail, which is told for every organization whose logs go.
    func delete(_ query: LogQuery, confirmation: String, by actor: AuditActor) async throws(StoreError) -> LogDeletion?

    /// By organization and application.
    /// - Parameter organization: `nil` for all.
    func usage(organization: String?) async throws(StoreError) -> [LogUsageRow]

    /// Newest first.
    /// - Parameters:
    ///   - command: those that answer it; `nil` for all.
    ///   - limit: 1 to 1,000.
    func uploads(of device: DeviceID, command: CommandID?, limit: Int) async throws(StoreError) -> [UploadRow]

    /// Newest first.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - id: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    func notices(organization: String?, below id: Int64?, limit: Int) async throws(StoreError) -> NoticePage

    /// Closes every file. Later calls throw `.shuttingDown`.
    func shutDown() async
}

/// Text on its way to somebody. One caller at a time; letting go of it ends it.
package protocol LogContent: Sendable {
    /// The next piece, about 128 KiB; `nil` at the end.
    func next() async throws(StoreError) -> Data?
}
