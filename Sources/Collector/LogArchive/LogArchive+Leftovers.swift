import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Removes what no row of the registry refers to.
extension LogArchive {
    /// The bytes that were found beside the chunks that are kept.
    package struct Leftovers: Equatable, Sendable {
        /// The number of chunks that were removed.
        package internal(set) var removed = 0
        /// The number of chunks that must be removed and could not be; the next time tries again.
        package internal(set) var failed = 0
        /// Whole chunks of uploads that the registry has never heard of; they are left alone.
        package internal(set) var unknown: [String] = []
        /// Not ours, or not to be looked into; left alone.
        package internal(set) var strangers: [String] = []

        func log(to logger: Logger) {
            if removed > 0 {
                logger.notice("files of unfinished chunks removed", metadata: ["store.files": "\(removed)"])
            }
            if failed > 0 {
                logger.warning("files of unfinished chunks cannot be removed", metadata: ["store.files": "\(failed)"])
            }
            if let first = strangers.first {
                logger.warning(
                    "unknown files among the chunks are left alone",
                    metadata: ["store.files": "\(strangers.count)", "store.file": "\(first)"])
            }
            if let first = unknown.first {
                logger.error(
                    "chunks of unknown uploads are left alone and not listed",
                    metadata: ["store.files": "\(unknown.count)", "store.file": "\(first)"])
            }
        }
    }

    /// Removes leftovers from a shared store: attempts that no collector has registered, and deleted chunks that could
    /// not be removed. Lists the whole store, so once a day is enough. Any collector may do it, also several at once. A
    /// directory has no other leftovers than those that `open` removes.
    /// - Parameter leastAge: what is younger stays, because another collector may be about to register it.
    /// - Throws: `.unavailable` and others of the store. What was removed stays removed.
    @discardableResult
    package func cleanUp(
        leastAge: Duration = LogArchive.leftoverAge, logger: Logger
    ) async throws(StoreError) -> Leftovers {
        guard chunks.isShared else { return Leftovers() }
        let leftovers = try await remover.removeLeftovers(of: self, leastAge: leastAge)
        leftovers.log(to: logger)
        return leftovers
    }

    /// Removes the remains of killed processes: unfinished files, and chunks that the registry does not keep. Files
    /// with other names are left alone.
    func removeLeftovers(leastAge: Duration) throws(StoreError) -> Leftovers {
        let snapshot = MetadataSnapshot(metadata.registry)
        let kept = try snapshot.keptChunks()
        var found = Leftovers()
        var doomed: [String] = []
        try chunks.list { entry throws(StoreError) in
            switch entry {
            case .stranger(let path): found.strangers.append(path)
            case .unfinished(let path): doomed.append(path)
            case .chunk(let path, _, _, _, _) where kept.contains(path): break
            case .chunk(_, _, _, _, let age?) where age < leastAge: break
            case .chunk(let path, let upload, let number, let isAttempt, _):
                // Asked after it was listed: it may have been registered since `kept` was read.
                switch try snapshot.fate(ofLeftover: path, number, of: upload) {
                case .kept: break
                case .awaited where !isAttempt: break
                case .unknown: found.unknown.append(path)
                case .awaited, .over: doomed.append(path)
                }
            }
        }
        for path in doomed {
            if chunks.delete(path) { found.removed += 1 } else { found.failed += 1 }
        }
        return found
    }
}

/// The decision about a chunk's bytes that were not kept when they were listed.
enum LeftoverFate {
    /// They are kept now.
    case kept
    /// The chunk may come again. Without attempts it replaces these bytes then.
    case awaited
    /// The chunk was deleted, lost by its device, or is of an upload that has ended; or another attempt is kept.
    case over
    case unknown
}
