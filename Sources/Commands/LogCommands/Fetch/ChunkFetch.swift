import CommandKit
import Dispatch
import FoundationEssentials
import Glibc
import LogStore
import Synchronization
import TelemetryBasics
import WireModel

/// Fetches chunks of a store into a folder, several at a time. Resumes an earlier attempt that was interrupted.
final class ChunkFetch: Sendable {
    /// State that the workers share.
    private struct Progress {
        var next = 0
        var finished = 0
        var results: [Int: (bytes: Int, digest: Data)] = [:]
        var missing: [FetchManifest.Missing] = []
        var failure: (any Error)?
    }

    /// The processor limits inflating, and the disk limits copying. More threads do not help.
    private static let maximumWorkers = 4

    typealias Journal = FetchJournal<Head, WrittenChunk>

    /// All that is to be fetched.
    struct Head: Codable, Equatable {
        var request: FetchRequest
        var plan: ChunkPlan
        var names: [String]
    }

    private let folder: ChunkFolder
    private let directory: StoreDirectory
    private let head: Head
    private let journal: Journal
    private let progress: Mutex<Progress>
    /// Chunks that an earlier attempt wrote and that are intact.
    let resumed: Int

    /// - Parameters:
    ///   - name: in file names; its application stands for chunks without a bundle id.
    ///   - isNamed: its application stands for all chunks.
    init(
        _ request: FetchRequest, _ snapshot: StoreSnapshot, _ name: ChunkName, isNamed: Bool, into folder: ChunkFolder,
        filter: LogFilter,
        problems: inout [ChunkPlan.Problem]
    ) throws {
        try folder.make()
        let journal: Journal
        if let former = folder.isForced ? nil : try Journal.read(folder.journalPath) {
            try folder.requireSame(request, as: former.head.request)
            // A new file, because the last line of the old one may be incomplete.
            journal = try Journal(former.head, entries: former.entries, at: folder.journalPath)
        } else {
            let plan = try ChunkPlan(snapshot, filter: filter, problems: &problems)
            let names = plan.chunks.enumerated().map { position, chunk in
                var chunk = chunk
                if isNamed { chunk.application = nil }
                return name.file(position + 1, of: plan.chunks.count, chunk, isCompressed: request.form == .gzip)
            }
            try folder.requireEmpty()
            journal = try Journal(Head(request: request, plan: plan, names: names), at: folder.journalPath)
        }
        let head = journal.head
        var progress = Progress()
        for done in journal.entries
        where head.names.indices.contains(done.position)
            && folder.holds(head.names[done.position], bytes: done.bytes, sha256: done.sha256)
        {
            progress.results[done.position] = (done.bytes, done.sha256)
        }
        progress.finished = progress.results.count
        resumed = progress.finished
        directory = snapshot.directory
        self.folder = folder
        self.head = head
        self.journal = journal
        self.progress = Mutex(progress)
    }

    /// - Parameter report: receives the number of written chunks and the number of all.
    /// - Throws: the first failure. The files written so far stay for the next attempt. A chunk that is gone or damaged
    ///   is no failure; the manifest lists it as `missing`.
    func run(_ report: (Int, Int) -> Void) throws -> FetchManifest {
        let all = head.plan.chunks.count
        // Only one worker at a time calls it.
        nonisolated(unsafe) let report = report
        DispatchQueue.concurrentPerform(
            iterations: min(Self.maximumWorkers, sysconf(Int32(_SC_NPROCESSORS_ONLN)), max(1, all))
        ) { _ in
            do { try work(report) } catch { progress.withLock { $0.failure = $0.failure ?? error } }
        }
        let manifest = try progress.withLock { progress in
            if let failure = progress.failure { throw failure }
            return listed(progress.results, progress.missing)
        }
        try folder.write(manifest)
        try Files<LogStoreError>.remove(folder.journalPath)
        return manifest
    }

    private func work(_ report: (Int, Int) -> Void) throws {
        let reader = try ChunkReader(head.plan, in: directory)
        while let position = claimNext() {
            let chunk = head.plan.chunks[position]
            do {
                let result = try folder.write(chunk, as: head.request.form, reader, to: head.names[position])
                try progress.withLock { progress in
                    try journal.append(WrittenChunk(position: position, bytes: result.bytes, sha256: result.digest))
                    progress.results[position] = result
                }
            } catch let error as LogStoreError where error.code == .notFound || error.code == .damaged {
                progress.withLock {
                    $0.missing.append(
                        FetchManifest.Missing(
                            order: position + 1, firstLine: chunk.first, lastLine: chunk.last, reason: error.message))
                }
            }
            progress.withLock {
                $0.finished += 1
                report($0.finished, head.plan.chunks.count)
            }
        }
    }

    /// The next chunk to write; `nil` if all are assigned or another worker failed.
    private func claimNext() -> Int? {
        progress.withLock { progress in
            while progress.results[progress.next] != nil { progress.next += 1 }
            guard progress.failure == nil, progress.next < head.plan.chunks.count else { return nil }
            progress.next += 1
            return progress.next - 1
        }
    }

    private func listed(_ results: [Int: (bytes: Int, digest: Data)], _ missing: [FetchManifest.Missing])
        -> FetchManifest
    {
        let chunks = results.sorted { $0.key < $1.key }.map { position, result in
            let chunk = head.plan.chunks[position]
            return FetchManifest.Chunk(
                order: position + 1, name: head.names[position], bytes: result.bytes, sha256: result.digest.hexadecimal,
                level: head.request.level.name, type: chunk.type, application: chunk.application,
                rawBytes: chunk.rawBytes, lines: chunk.lines,
                firstLine: chunk.first, lastLine: chunk.last, from: Timestamp.text(chunk.earliest),
                to: Timestamp.text(chunk.latest))
        }
        return FetchManifest(chunks: chunks, missing: missing.sorted { $0.order < $1.order })
    }
}

/// The arguments of a fetch. An interrupted fetch is resumed only with the same arguments.
struct FetchRequest: Codable, Equatable, Sendable {
    var store: String
    var form: ChunkReader.Form
    var kinds: [String]
    var level: LogLevel
    var since: TimeArgument?
    var until: TimeArgument?
    var categories: [String]
    var text: String
    var bundleIdentifier: String?
}

/// A chunk file that a fetch has written whole.
struct WrittenChunk: Codable, Equatable, Sendable {
    /// Its place in the plan, from 0.
    var position: Int
    var bytes: Int
    var sha256: Data
}
