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

    /// Newest first.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - id: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    func notices(organization: String?, below id: Int64?, limit: Int) async throws(StoreError) -> NoticePage

    /// Closes every file. Later calls throw `.shuttingDown`.
    func shutDown() async
}
