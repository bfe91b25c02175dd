import RecordStore
import Registry
import WireModel

extension MetadataSnapshot {
    /// Paths of all chunks that are kept.
    func keptChunks() throws(StoreError) -> Set<String> {
        try read { connection throws(StoreError) in
            Set(
                try connection.rows("SELECT path FROM chunk WHERE fate = \(ChunkFate.stored.rawValue)") { $0.string(0) }
            )
        }
    }

    /// Decides about a chunk's bytes that are not kept.
    func fate(ofLeftover path: String, _ number: Int, of upload: UploadID) throws(StoreError) -> LeftoverFate {
        try read { connection throws(StoreError) in
            try connection.first(
                """
                SELECT upload.phase, chunk.fate, chunk.path = ? FROM upload LEFT JOIN chunk \
                ON chunk.upload = upload.row AND chunk.number = ?
                WHERE upload.id = ?
                """, path, number, upload.data
            ) { chunk in
                if chunk.int(1) == ChunkFate.stored.rawValue, chunk.bool(2) { return .kept }
                return chunk.int(0) == UploadPhase.open.rawValue && chunk.int(1) == ChunkFate.missing.rawValue
                    ? .awaited : .over
            } ?? .unknown
        }
    }
}
