import Glibc
import Gzip
import TelemetryBasics

/// Files that rotation compressed before they were read to their end.
extension FileIntake {
    /// The compressed file in the same directory that has the content that was read, whatever its name is.
    func compressedCopy(of file: Tracked) -> (key: String, path: String)? {
        let position = file.position
        guard position.offset > 0, let listing = listing(besides: position.path) else { return nil }
        for entry in listing.compressed(of: position.path) where files[entry.key] == nil {
            if isStopping { return nil }
            guard position.mark.canBegin(headSums(entry)), case let descriptor = openFile(entry.path, entry.key),
                descriptor >= 0, let compressed = try? CompressedFile(descriptor),
                (try? compressed.begin(at: position, goesOn: { !isStopping })) == true
            else { continue }
            return (entry.key, entry.path)
        }
        return nil
    }

    /// Sums of the first bytes of what a compressed file inflates to; none of one that is damaged there.
    private func headSums(_ entry: DirectoryListing.Entry) -> [UInt64] {
        let id = "\(entry.key) \(entry.modified)"
        if let known = compressedHeads[id] { return known }
        var sums: [UInt64] = []
        let descriptor = openFile(entry.path, entry.key)
        if descriptor >= 0, let file = try? CompressedFile(descriptor) {
            while file.pending.count < FilePosition.Mark.maximumHeadBytes, (try? file.fill()) == true {}
            sums = FilePosition.Mark.sums(file.pending.prefix(FilePosition.Mark.maximumHeadBytes))
        }
        if compressedHeads.count >= 256 { compressedHeads = [:] }
        compressedHeads[id] = sums
        return sums
    }

    /// Reads on in a compressed file, until the batch is full or the file ends.
    /// - Returns: whether there is more of it.
    func readCompressed(_ key: String, into batch: inout IntakeBatch, _ now: Int64) -> Bool {
        guard var file = files[key] else { return false }
        let path = file.position.path
        do throws(GzipError) {
            guard let compressed = try openCompressed(key, file) else {
                if file.missing > 1, !isStopping { leave(key, file, "it is gone, or has other content", &batch) }
                return false
            }
            var assembler = assembler(file.position.open)
            var isAtEnd = false
            while !batch.isFull, !isAtEnd, !isStopping {
                let used = compressed.pending.withUnsafeBytes {
                    assembler.add($0, event: { batch.add(entry($0, path)) }, goesOn: { !batch.isFull })
                }
                compressed.use(used)
                file.position.open = assembler.open
                file.position.offset = compressed.offset
                file.position.mark.setTail(compressed.tail)
                // If the file is damaged behind this, what was read of it stays read.
                files[key] = file
                if !batch.isFull { isAtEnd = !(try compressed.fill()) }
            }
            file.lastRead = now
            files[key] = file
            guard isAtEnd else {
                batch.set(key, file.position.encoded)
                return true
            }
            compressed.pending.withUnsafeBytes { rest in
                assembler.finish(rest) { batch.add(entry($0, path)) }
            }
            forget(key, &batch)
        } catch {
            leave(key, files[key] ?? file, error.message, &batch)
        }
        return false
    }

    private func openCompressed(_ key: String, _ file: Tracked) throws(GzipError) -> CompressedFile? {
        if let open = compressed[key], open.offset == file.position.offset { return open }
        compressed[key] = nil
        let descriptor = openFile(file.position.path, key)
        guard descriptor >= 0 else { return nil }
        let new = try CompressedFile(descriptor)
        guard try new.begin(at: file.position, goesOn: { !isStopping }) else {
            if isStopping { return nil }
            throw GzipError(code: .corrupt, message: "it has no longer the content that was read")
        }
        compressed[key] = new
        return new
    }

    /// A compressed file that cannot be read on is named and left as it is.
    private func leave(_ key: String, _ file: Tracked, _ reason: String, _ batch: inout IntakeBatch) {
        var assembler = assembler(file.position.open)
        assembler.finish { batch.add(entry($0, file.position.path)) }
        batch.report(
            "a compressed file cannot be read to its end",
            ["file": file.position.path, "from": "\(file.position.offset)", "reason": reason])
        forget(key, &batch)
    }
}
