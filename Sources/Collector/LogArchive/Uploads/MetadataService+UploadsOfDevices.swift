import CollectorTunables
import FoundationEssentials
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The calls of devices about their uploads.
extension MetadataService {
    /// One chunk as the manifest describes it, and where its bytes belong.
    struct ExpectedChunk: Equatable, Sendable {
        var rawBytes: Int
        var rawDigest: Data
        fileprivate var upload: Known
        fileprivate var number: Int

        /// - Parameter attempt: `nil` in a store that only one collector uses.
        func path(attempt: UInt64?) -> ChunkPath {
            ChunkPath(
                organization: upload.usageKey.organization, application: upload.usageKey.application,
                device: upload.device, upload: upload.upload, number: number, attempt: attempt)
        }
    }

    enum ChunkAdmission: Sendable {
        case accept(ExpectedChunk)
        case already(UploadStanding)
    }

    /// Begins an upload. Repeated with the same manifest, it reports how far the upload is.
    package func beginUpload(
        _ manifest: UploadManifest, from device: DeviceRow
    ) throws(UploadError) -> UploadStanding {
        do { try age() } catch { throw .store(error) }
        let now = clock.now()
        return try change { () throws(StoreError) -> Result<UploadStanding, UploadError> in
            if let known = try find(manifest.upload, of: device.id) {
                guard known.manifestHash == manifest.digest else { return .failure(.manifestDiffers) }
                guard known.phase != .expired else { return .failure(.expired) }
                return .success(try standing(known))
            }
            guard try openUploads(of: device.id) < Tunables.Uploads.openPerDevice else {
                return .failure(.tooMany(limit: Tunables.Uploads.openPerDevice))
            }
            let application = manifest.application.isEmpty ? device.application : manifest.application
            if let refusal = try refusal(ofApplication: application, from: device, at: now) { return .failure(refusal) }
            try forgetOldest(of: device.id)
            try insert(manifest, of: application, from: device, at: now)
            guard let known = try find(manifest.upload, of: device.id) else { return .failure(.unknownUpload) }
            return .success(try standing(known))
        }
    }

    package func standing(of upload: UploadID, from device: DeviceID) throws(UploadError) -> UploadStanding {
        do { try age() } catch { throw .store(error) }
        return try change { () throws(StoreError) -> Result<UploadStanding, UploadError> in
            guard let known = try find(upload, of: device) else { return .failure(.unknownUpload) }
            return .success(try standing(known))
        }
    }

    /// Decides whether to accept a chunk before its bytes are read.
    func admit(_ number: Int, of upload: UploadID, from device: DeviceID) throws(UploadError) -> ChunkAdmission {
        let now = clock.now()
        return try change { () throws(StoreError) -> Result<ChunkAdmission, UploadError> in
            guard let known = try find(upload, of: device) else { return .failure(.unknownUpload) }
            let chunk = try chunk(number, of: known)
            let usage: [(owner: LogQuotaOwner, usage: LogUsage)] = [
                (.application, try self.usage(of: known.usageKey)),
                (.device, try self.usage(ofDevice: device, known.usageKey)),
                (.organization, try totalUsage(of: known.usageKey)),
            ]
            let decision = ChunkDecision.decide(
                phase: known.phase, expires: known.expires, now: now, fate: chunk?.fate, rawBytes: chunk?.rawBytes ?? 0,
                usage: usage)
            switch (decision, chunk) {
            case (.accept, let chunk?):
                return .success(
                    .accept(
                        ExpectedChunk(
                            rawBytes: chunk.rawBytes, rawDigest: chunk.rawDigest, upload: known, number: number)))
            case (.already, _): return .success(.already(try standing(known)))
            case (.refuse(let error), _):
                if case .quotaExceeded(let owner, _, _) = error, let full = usage.first(where: { $0.owner == owner }) {
                    try raise(
                        .logQuotaReached, known.usageKey.organization, known.usageKey.subject(owner, device: device),
                        full.usage, at: now)
                }
                return .failure(error)
            case (.accept, nil): return .failure(.unknownChunk)
            }
        }
    }

    /// Records that the chunk store has a chunk, and the chunk's content. On disk when it returns.
    /// - Parameters:
    ///   - path: where the bytes are.
    ///   - deadline: of this machine's time since boot, in microseconds; after it the bytes may have been removed as
    ///     leftovers, so they are not recorded. `nil`: none.
    /// - Returns: the upload's status, and whether the bytes at that path are those that are kept. If not, they must be
    ///   removed.
    func recordStored(
        _ number: Int, of upload: UploadID, from device: DeviceID, scan: ChunkScan, path: ChunkPath, storedBytes: Int,
        before deadline: Int64?
    ) throws(UploadError) -> (standing: UploadStanding, isKept: Bool) {
        // The upload may have ended meanwhile, or the quota may be used up. That is refused here.
        _ = try admit(number, of: upload, from: device)
        return try change {
            () throws(StoreError) -> Result<(standing: UploadStanding, isKept: Bool), UploadError> in
            guard let known = try find(upload, of: device) else { return .failure(.unknownUpload) }
            // Another collector may have recorded it since it was admitted.
            guard try chunk(number, of: known)?.fate == .missing else {
                return .success((try standing(known), try self.path(of: number, of: known) == path.text))
            }
            if let deadline, SystemClock.bootMicroseconds() >= deadline {
                return .failure(.store(StoreError(.overloaded, "storing the chunk took too long. Try again.")))
            }
            try record(number, of: known, scan: scan, path: path, storedBytes: storedBytes)
            return .success((try standing(known), true))
        }
    }

    /// The device has sent all it has. Chunks it calls gone are not missing any more; stored chunks stay.
    package func completeUpload(
        _ upload: UploadID, gone: [UploadStanding.GoneChunk], from device: DeviceID
    ) throws(UploadError) -> UploadStanding {
        let now = clock.now()
        return try change { () throws(StoreError) -> Result<UploadStanding, UploadError> in
            guard let known = try find(upload, of: device) else { return .failure(.unknownUpload) }
            if known.phase == .open, known.expires > now {
                for chunk in gone {
                    guard try self.chunk(chunk.number, of: known) != nil else { return .failure(.unknownChunk) }
                    try connection.run(
                        """
                        UPDATE chunk SET fate = \(ChunkFate.gone.rawValue), reason = ?
                        WHERE upload = ? AND number = ? AND fate = \(ChunkFate.missing.rawValue)
                        """,
                        chunk.reason.rawValue, known.row, chunk.number)
                }
                if try standing(known).missing.isEmpty { try end(known.row, as: .complete, at: now) }
            }
            guard let present = try find(upload, of: device) else { return .failure(.unknownUpload) }
            return .success(try standing(present))
        }
    }

    // MARK: Rows

    struct Known: Equatable {
        var row: Int64
        var upload: UploadID
        var device: DeviceID
        var usageKey: UsageKey
        var manifestHash: Data
        var phase: UploadPhase
        var expires: Int64
    }

    private func find(_ upload: UploadID, of device: DeviceID) throws(StoreError) -> Known? {
        try connection.first(
            """
            SELECT row, organization, application, test, manifest_hash, phase, expires FROM upload WHERE device = ? \
            AND id = ?
            """,
            device.data, upload.data
        ) { row throws(StoreError) in
            Known(
                row: try row.int64("row"), upload: upload, device: device,
                usageKey: UsageKey(
                    organization: try row.string("organization"), application: try row.string("application"),
                    test: try row.bool("test")),
                manifestHash: try row.data("manifest_hash"),
                phase: try UploadPhase(rawValue: row.int("phase")) ?? .expired, expires: try row.int64("expires"))
        }
    }

    private func chunk(
        _ number: Int, of upload: Known
    ) throws(StoreError) -> (fate: ChunkFate, rawBytes: Int, rawDigest: Data)? {
        try connection.first(
            "SELECT fate, raw_bytes, raw_digest FROM chunk WHERE upload = ? AND number = ?", upload.row, number
        ) { chunk in ChunkFate(rawValue: chunk.int(0)).map { ($0, chunk.int(1), chunk.data(2)) } }
    }

    func isStored(_ number: Int, of upload: UploadID, from device: DeviceID) throws(StoreError) -> Bool {
        try read { () throws(StoreError) in
            guard let known = try find(upload, of: device) else { return false }
            return try chunk(number, of: known)?.fate == .stored
        }
    }

    /// Where the bytes of a stored chunk are; `nil` if it is not stored.
    private func path(of number: Int, of upload: Known) throws(StoreError) -> String? {
        try connection.first(
            "SELECT path FROM chunk WHERE upload = ? AND number = ? AND fate = \(ChunkFate.stored.rawValue)",
            upload.row,
            number
        ) { $0.string(0) }
    }

    private func standing(_ known: Known) throws(StoreError) -> UploadStanding {
        var standing = UploadStanding(upload: known.upload, phase: known.phase, expires: known.expires)
        try connection.each(
            "SELECT number, fate, reason, raw_bytes FROM chunk WHERE upload = ? ORDER BY number", known.row
        ) { chunk in
            let number = chunk.int(0)
            switch ChunkFate(rawValue: chunk.int(1)) {
            case .stored:
                standing.storedChunks += 1
                standing.storedRawBytes += chunk.int(3)
            case .gone: standing.gone.append(.init(number: number, reason: DropReason(rawValue: chunk.int(2))))
            case .deleted: standing.deleted.append(number)
            case .missing, nil: standing.missing.append(number)
            }
        }
        return standing
    }

    private func openUploads(of device: DeviceID) throws(StoreError) -> Int {
        try connection.first(
            "SELECT count(*) FROM upload WHERE device = ? AND phase = \(UploadPhase.open.rawValue)", device.data
        ) { $0.int(0) } ?? 0
    }

    private func insert(
        _ manifest: UploadManifest, of application: String, from device: DeviceRow, at now: Int64
    ) throws(StoreError) {
        let inserted = try connection.first(
            """
            INSERT INTO upload (device, id, organization, application, test, log_epoch, level, command, manifest_hash, \
            begun, expires, phase)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) RETURNING row
            """,
            device.id.data, manifest.upload.data, device.organization, application, device.test, manifest.logEpoch.data,
            manifest.level?.rawValue, manifest.command?.data, manifest.digest, now,
            now + Tunables.Uploads.openSeconds * 1_000_000
        ) { $0.int64(0) }
        guard let row = inserted else { return }
        for entry in manifest.chunks {
            try connection.run(
                """
                INSERT INTO chunk (upload, number, organization, application, test, device, log_epoch, type, ring, \
                file_name, raw_bytes,
                raw_digest, fate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
                """, row, entry.number, device.organization, application, device.test, device.id.data,
                manifest.logEpoch.data,
                entry.type?.wire.rawValue ?? 0, entry.ring, entry.fileName, entry.rawBytes, entry.rawDigest)
        }
    }

    private func record(
        _ number: Int, of known: Known, scan: ChunkScan, path: ChunkPath, storedBytes: Int
    ) throws(StoreError) {
        let now = clock.now()
        let recorded = try connection.first(
            """
            UPDATE chunk SET fate = \(ChunkFate.stored.rawValue), received = ?1, path = ?2, stored_bytes = ?3,
            stored_digest = ?4, first_number = ?5, last_number = ?6,
            first_time = ?7, last_time = ?8, errors = ?9, warnings = ?10, informations = ?11, verboses = ?12, others = \
            ?13
            WHERE upload = ?14 AND number = ?15 RETURNING row
            """,
            now, path.text, storedBytes, scan.storedDigest, scan.numbers?.lowerBound,
            scan.numbers?.upperBound,
            scan.times?.lowerBound, scan.times?.upperBound, scan.levels[0], scan.levels[1], scan.levels[2],
            scan.levels[3], scan.otherLines,
            known.row, number
        ) { $0.int64(0) }
        guard let row = recorded else { return }
        for (segment, pieces) in scan.runs {
            var total = LogRunSummary()
            for piece in pieces { total.add(piece) }
            try connection.run(
                """
                INSERT INTO log_run (row, chunk, segment, first_time, last_time, errors, warnings, informations, \
                verboses, pieces)
                VALUES (\(LogRunRows.nextRow), ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                row, segment, total.times.lowerBound, total.times.upperBound, total.levels[0], total.levels[1],
                total.levels[2],
                total.levels[3], LogPiece.encode(pieces))
        }
        try count(known.usageKey, chunks: 1, rawBytes: scan.rawBytes, at: now)
        try count(known.device, rawBytes: scan.rawBytes)
    }
}
