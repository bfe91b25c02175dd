import Crypto
import FoundationEssentials
import TelemetryBasics

/// Encrypts plain sealed segments, and makes encrypted ones plain after encryption was switched off. Blocks are neither
/// inflated nor compressed again.
///
/// The file and its index are replaced one after the other. The state between the two is the same in both directions:
/// an encrypted file, and an index with the digests in plain. It is readable, and the next call goes on from there:
///
///     plain file, version 1  ⇄  encrypted file, version 1  ⇄  encrypted file, version 2
///
/// A plan of chunks names places in the text and the gzip form, which stay as they are.
struct SegmentConverter {
    let directory: StoreDirectory

    /// Where a kill may come between two changes on the disk, for tests of what it leaves.
    enum Step: CaseIterable, Sendable {
        case writing, written, fileReplaced, indexWritten, indexReplaced
    }

    /// Called at each step; does nothing outside of tests.
    var reached: (Step) throws(LogStoreError) -> Void = { (_) throws(LogStoreError) in }

    init(directory: StoreDirectory) { self.directory = directory }

    /// Whether a segment may have the other form. Reads some bytes only, because a store may have thousands of
    /// segments.
    func mayBeDue(_ name: SegmentName) throws(LogStoreError) -> Bool {
        if directory.isSealing {
            let index = try OpenFile<LogStoreError>(reading: directory.path(name, .index))
            return try !index.read(SegmentIndex.encryptedStart.count, at: 0).elementsEqual(SegmentIndex.encryptedStart)
        }
        let file = try OpenFile<LogStoreError>(reading: directory.path(name, .sealed))
        return try StoredSegment.head(of: file) != nil
    }

    private func isDue(_ stored: StoredSegment, _ index: SegmentIndex) -> Bool {
        directory.isSealing ? !stored.isEncrypted || index.run == nil : stored.isEncrypted
    }

    /// - Returns: whether something was changed.
    /// - Throws: what stopped it; the segment is as readable as before. `.locked`, `.damaged`, `.diskFull`, `.io`.
    func convert(_ name: SegmentName) throws(LogStoreError) -> Bool {
        var index = try SegmentIndex(name, in: directory)
        let stored = try StoredSegment(name, in: directory, index: index)
        guard isDue(stored, index) else { return false }
        if index.rawDigest.isEmpty { (index.rawDigest, index.storedDigest) = try stored.digests() }
        if directory.isSealing {
            if stored.isEncrypted {
                index.run = stored.head
            } else {
                var written: SegmentIndex? = index
                try write(stored, &written, name)
                index.run = written?.run
                try replace(.sealed, of: name)
            }
            try replaceIndex(index, of: name)
        } else {
            if index.run != nil {
                index.run = nil
                try replaceIndex(index, of: name)
            }
            var written: SegmentIndex? = index
            try write(stored, &written, name)
            try replace(.sealed, of: name)
        }
        return true
    }

    private func write(_ stored: StoredSegment, _ index: inout SegmentIndex?, _ name: SegmentName) throws(LogStoreError)
    {
        let target = try SealedSegmentWriter(name, in: directory)
        try reached(.writing)
        var digest = SHA256()
        for block in index?.blocks ?? [] {
            let member = try stored.read(block)
            digest.update(data: member)
            try target.write(member)
        }
        // A damaged segment stays as it is, so that it is found to be damaged.
        guard Data(digest.finalize()) == index?.storedDigest else {
            throw LogStoreError(.damaged, "\(stored.path) is not what was sealed: SHA-256 differs. It stays as it is.")
        }
        try target.finish(&index)
        try reached(.written)
    }

    private func replaceIndex(_ index: SegmentIndex, of name: SegmentName) throws(LogStoreError) {
        try index.writePartial(name, in: directory)
        try reached(.indexWritten)
        try replace(.index, of: name)
    }

    /// Puts the written file in its place, unless the segment was removed meanwhile.
    private func replace(_ part: SegmentName.Part, of name: SegmentName) throws(LogStoreError) {
        let lock = try directory.lock()
        defer { lock.release() }
        let partial = SegmentSealer.partial(name, part)
        guard directory.has(name, .sealed), directory.has(name, .index) else {
            try directory.remove(partial)
            throw LogStoreError(.notFound, "segment \(name.ordinal) was removed meanwhile")
        }
        try directory.rename(partial, to: name.file(part))
        try directory.sync()
        try reached(part == .sealed ? .fileReplaced : .indexReplaced)
    }
}
