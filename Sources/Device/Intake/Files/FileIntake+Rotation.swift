import Glibc
import LogStore
import TelemetryBasics

/// What becomes of a file whose content went: it was truncated, replaced, removed or compressed.
extension FileIntake {
    /// The content that was read is no longer in the file: it was truncated, or its inode has another file. What was
    /// not read of it is in the copy that rotation made, if there is one.
    func replaceContent(of key: String, _ batch: inout IntakeBatch, _ now: Int64) {
        guard let file = files[key] else { return }
        // The copy may be younger than the last listing.
        if let parent = Paths.parent(of: file.position.path) { listings[parent] = nil }
        guard passOn(key, file, &batch) != .interrupted else { return }
        let path = Self.isThere(file.position.path, key) ? file.position.path : nil
        if file.descriptor >= 0, path == nil { closing[key] = file.descriptor }
        forget(key, &batch)
        guard let path else { return }
        files[key] = Tracked(position: FilePosition(path: path), descriptor: file.descriptor, lastRead: now)
        files[key]!.isMatched = file.isMatched
        batch.set(key, files[key]!.position.encoded)
    }

    /// A file is gone and read to its end, as far as it can be read.
    func end(_ key: String, _ file: Tracked, _ batch: inout IntakeBatch) {
        var position = file.position
        if file.descriptor >= 0, copies[key, default: []].isEmpty {
            var assembler = assembler(position.open)
            let count = readBytes(file.descriptor, at: position.offset)
            assembler.finish(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
                batch.add(entry($0, position.path))
            }
            _ = position.settle(file.descriptor, at: position.offset + count)
            giveUp(key, position, &batch)
        } else {
            switch passOn(key, file, &batch) {
            case .interrupted: return
            case .done: forget(key, &batch)
            case .nobody: giveUp(key, position, &batch)
            }
        }
        if file.descriptor >= 0 { closing[key] = file.descriptor }
    }

    enum Passing {
        case done
        /// No file has the rest.
        case nobody
        /// Nothing was changed.
        case interrupted
    }

    /// Lets the copy of a file go on where the file was. Of several one goes on, and the others are copies of it.
    /// Without one the open event is complete, and what nobody can read any more is told.
    func passOn(_ key: String, _ file: Tracked, _ batch: inout IntakeBatch) -> Passing {
        let known = copies[key, default: []].sorted()
        var heirs: [(key: String, path: String, size: Int)] = []
        for copy in known {
            guard let path = files[copy]?.position.path, let size = sizeIfContinued(file, path, copy) else { continue }
            heirs.append((copy, path, size))
        }
        if file.position.offset > 0, let listing = listing(besides: file.position.path) {
            for entry in listing.rotations(of: file.position.path) where !entry.path.hasSuffix(CompressedFile.suffix) {
                // Not one that is read already as a file of its own.
                guard entry.key != key, !known.contains(entry.key), files[entry.key].map(Self.isUnread) ?? true,
                    let size = sizeIfContinued(file, entry.path, entry.key)
                else { continue }
                heirs.append((entry.key, entry.path, size))
            }
        }
        var heir = heirs.max { ($0.size, $1.key) < ($1.size, $0.key) }
        var isCompressed: Bool?
        if heir == nil, let (copy, path) = compressedCopy(of: file) {
            heir = (copy, path, .max)
            isCompressed = true
        }
        if isStopping { return .interrupted }
        for copy in Set(known + heirs.map(\.key)) where copy != heir?.key && files[copy] != nil {
            settle(copy, copyOf: isCompressed == nil ? heir?.key : nil, &batch)
        }
        copies[key] = nil
        if let heir { succeed(file, heir.key, heir.path, isCompressed, &batch) }
        let unread = file.position.size - max(file.position.offset, min(heir?.size ?? 0, file.position.size))
        if heir == nil {
            var assembler = assembler(file.position.open)
            assembler.finish { batch.add(entry($0, file.position.path)) }
        }
        if unread > 0 {
            batch.report(
                "a file was truncated or removed before it was read to its end",
                ["file": file.position.path, "bytes": "\(unread)", "from": "\(file.position.size - unread)"])
        } else if heir == nil, !file.isSeen, !file.position.isRotated {
            // It may have had more lines, and nobody saw them.
            batch.report(
                "a file was truncated or removed while nobody read it; if it had more lines, they are lost",
                ["file": file.position.path, "from": "\(file.position.offset)"])
        }
        return heir == nil ? .nobody : .done
    }

    private static func isUnread(_ file: Tracked) -> Bool {
        file.isUndecided && file.position.offset == 0 && file.position.copyOf == nil && file.position.open == nil
    }

    private func sizeIfContinued(_ file: Tracked, _ path: String, _ key: String) -> Int? {
        let descriptor = openFile(path, key)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return file.position.isContinued(by: descriptor) ? Self.size(descriptor) : nil
    }

    /// Of this copy everything was read in its original, or is read in another copy.
    private func settle(_ key: String, copyOf other: String?, _ batch: inout IntakeBatch) {
        guard let path = files[key]?.position.path, case let descriptor = openFile(path, key), descriptor >= 0 else {
            return
        }
        defer { close(descriptor) }
        guard files[key]!.position.settle(descriptor, at: Self.size(descriptor)) else { return }
        setCopy(key, of: other)
        files[key]!.position.isRotated = true
        files[key]!.isUndecided = false
        files[key]!.drained = nil
        restless.insert(key)
        batch.set(key, files[key]!.position.encoded)
    }

    private func succeed(
        _ file: Tracked, _ heir: String, _ path: String, _ isCompressed: Bool?, _ batch: inout IntakeBatch
    ) {
        setCopy(heir, of: nil)
        var next = files[heir] ?? Tracked(position: FilePosition(path: path), lastRead: file.lastRead)
        next.position = file.position
        next.position.path = path
        next.position.isRotated = true
        next.position.isCompressed = isCompressed
        next.position.copyOf = nil
        next.isUndecided = false
        next.drained = nil
        next.isSeen = true
        next.lastRead = file.lastRead
        files[heir] = next
        given[heir] = nil
        restless.insert(heir)
        batch.set(heir, next.position.encoded)
    }

    // MARK: - Events of several lines

    /// A file that took the place of a renamed one: an event that is open there goes on here, if the first line begins
    /// no other.
    /// - Parameter bytes: the beginning of the file.
    func takeOver(_ file: inout Tracked, _ bytes: UnsafeRawBufferPointer, _ batch: inout IntakeBatch) {
        guard let former = file.predecessor, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return }
        file.predecessor = nil
        // The old file comes first in each turn. If there is more of it, its event does not go on here.
        guard let old = files[former], let open = old.position.open, !open.isLineOpen, old.drained != nil,
            old.position.offset == old.position.size, let isStart = configuration.isEventStart
        else { return }
        let line = UnsafeRawBufferPointer(rebasing: bytes[..<min(end, configuration.maximumEventBytes)])
        if isStart(line) {
            var assembler = assembler(open)
            assembler.finish { batch.add(entry($0, old.position.path)) }
        } else {
            file.position.open = open
        }
        files[former]!.position.open = nil
        setOpenBytes(former, nil)
        batch.set(former, files[former]!.position.encoded)
    }

    func setOpenBytes(_ key: String, _ count: Int?) {
        openTotal += (count ?? 0) - (openBytes[key] ?? 0)
        openBytes[key] = count
    }

    /// Keeps the text of open events of all files within ``maximumOpenBytes``: the longest are cut, and what goes is
    /// counted in them.
    func limitOpenText(_ key: String, _ batch: inout IntakeBatch) {
        setOpenBytes(key, files[key]?.position.text?.count)
        while openTotal > Self.maximumOpenBytes, let (longest, count) = openBytes.max(by: { $0.value < $1.value }),
            count > 256, var open = files[longest]?.position.open
        {
            open.text.removeLast(count - count / 4)
            open.leftOutBytes += count - count / 4
            files[longest]!.position.open = open
            setOpenBytes(longest, open.text.count)
            batch.set(longest, files[longest]!.position.encoded)
        }
    }
}
