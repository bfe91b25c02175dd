import FoundationEssentials
import Synchronization
import WireModel

/// Uploads of logs at a collector without a network: manifests and chunks as they came.
package final class LoopbackUploads: Sendable {
    package struct Upload: Sendable {
        package var manifest: WireUploadManifest
        /// Text by chunk number.
        package var chunks: [UInt32: Data] = [:]
        package var gone: [UInt32: WireDropReason] = [:]
        package var isComplete = false

        var missing: [UInt32] { manifest.chunks.map(\.number).filter { chunks[$0] == nil && gone[$0] == nil } }
    }

    private let uploads = Mutex<[Data: Upload]>([:])

    package init() {}

    /// What has arrived, by upload id.
    package var all: [Data: Upload] { uploads.withLock { $0 } }

    /// It expired, or was lost.
    package func forget(_ id: Data) { uploads.withLock { $0[id] = nil } }

    /// - Parameters:
    ///   - path: below the uploads' path: id and what follows.
    ///   - body: inflated.
    /// - Returns: status and body of the answer.
    package func answer(_ path: some StringProtocol, body: Data) -> (Int, Data) {
        let parts = path.split(separator: "/")
        guard let id = parts.first.flatMap({ Identifier<Upload>(String($0)) })?.data else { return (404, Data()) }
        return uploads.withLock { uploads in
            if parts.count == 1 {
                guard let manifest = try? WireUploadManifest.decode(body), manifest.uploadID == id else {
                    return (400, Data())
                }
                if let known = uploads[id], known.manifest != manifest { return (409, Data()) }
                uploads[id] = uploads[id] ?? Upload(manifest: manifest)
            } else if uploads[id] == nil {
                return (404, Data())
            } else if parts.count == 3, let number = UInt32(parts[2]) {
                guard
                    uploads[id]?.manifest.chunks.contains(where: {
                        $0.number == number && Int($0.rawBytes) == body.count
                    }) == true
                else {
                    return (400, Data())
                }
                uploads[id]?.chunks[number] = body
            } else if parts[1] == "complete" {
                guard let request = try? WireCompleteUpload.decode(body) else { return (400, Data()) }
                for gone in request.gone { uploads[id]?.gone[gone.number] = gone.reason }
                let isComplete = uploads[id]?.missing.isEmpty ?? false
                uploads[id]?.isComplete = isComplete
            }
            var status = WireUploadStatus()
            status.uploadID = id
            status.missing = uploads[id]?.missing ?? []
            status.complete = uploads[id]?.isComplete ?? false
            return (200, status.encoded)
        }
    }
}
