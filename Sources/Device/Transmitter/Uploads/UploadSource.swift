import FoundationEssentials
import WireModel

/// Makes the chunks of an upload, each time the same bytes.
package protocol UploadSource: Sendable {
    /// Content of one chunk of the manifest, or that it is no more.
    ///
    /// - Throws: what may be otherwise later.
    func chunk(_ number: UInt32, of upload: LogUpload) async throws -> UploadContent
}

package enum UploadContent: Sendable {
    /// Gzip members, whole.
    case compressed(Data)
    /// Its lines fell to a cap, or are not what they were.
    case gone(DropReason)
}
