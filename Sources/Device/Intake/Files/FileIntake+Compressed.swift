import Glibc
import Gzip
import TelemetryBasics

/// Files that rotation compressed before they were read to their end.
extension FileIntake {
    /// The compressed file in the same directory that has the content that was read.
    func compressedCopy(of file: Tracked) -> (key: String, path: String)? {
        let position = file.position
        guard position.offset > 0, let parent = Paths.parent(of: position.path),
            let names = try? Files<FileError>.names(in: parent)
        else { return nil }
        for name in names.sorted() where name.hasSuffix(CompressedFile.suffix) {
            let path = "\(parent)/\(name)"
            var status = stat()
            guard Self.isRotation(path, of: position.path), stat(path, &status) == 0,
                status.st_mode & S_IFMT == S_IFREG,
                case let key = FilePosition.key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)),
                files[key] == nil, case let descriptor = openFile(path, key), descriptor >= 0,
                let compressed = try? CompressedFile(descriptor), (try? compressed.begin(at: position)) == true
            else { continue }
            return (key, path)
        }
        return nil
    }

    /// Reads on in a compressed file, until the batch is full or the file ends.
    /// - Returns: whether there is more of it.
    func readCompressed(_ key: String, into batch: inout IntakeBatch, _ now: Int64) -> Bool {
        guard var file = files[key] else { return false }
        let path = file.position.path
        do throws(GzipError) {
            guard let compressed = try openCompressed(key, file) else {
                if file.missing > 1 { leave(key, file, "it is gone, or has other content", &batch) }
                return false
            }
            var assembler = EventAssembler(limit: configuration.maximumEventBytes, isStart: configuration.isEventStart)
            assembler.open = file.position.open
            var isAtEnd = false
            while !batch.isFull, !isAtEnd {
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
        guard try new.begin(at: file.position) else {
            throw GzipError(code: .corrupt, message: "it has no longer the content that was read")
        }
        compressed[key] = new
        return new
    }

    /// A compressed file that cannot be read on is named and left as it is.
    private func leave(_ key: String, _ file: Tracked, _ reason: String, _ batch: inout IntakeBatch) {
        var assembler = EventAssembler(limit: configuration.maximumEventBytes, isStart: configuration.isEventStart)
        assembler.open = file.position.open
        assembler.finish { batch.add(entry($0, file.position.path)) }
        batch.report(
            "a compressed file cannot be read to its end",
            ["file": file.position.path, "from": "\(file.position.offset)", "reason": reason])
        forget(key, &batch)
    }

    private func forget(_ key: String, _ batch: inout IntakeBatch) {
        compressed[key] = nil
        files[key] = nil
        batch.set(key, nil)
    }
}
