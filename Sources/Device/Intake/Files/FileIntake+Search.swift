import Glibc
import LogStore
import TelemetryBasics

/// Which files there are, and what becomes of them when they are rotated.
extension FileIntake {
    func search(_ batch: inout IntakeBatch, _ now: Int64) {
        for key in files.keys { files[key]!.isMatched = false }
        // A compressed file is no text. What was not read before it was compressed is read by another way.
        for path in matches() where !path.hasSuffix(CompressedFile.suffix) { find(path, &batch, now) }
        for (key, file) in files where !file.isMatched { follow(key, file) }
        if !isStarted {
            isStarted = true
            batch.set(Self.startedKey, [1])
        }
    }

    func matches() -> [String] {
        configuration.patterns.reduce(into: Set<String>()) { $0.formUnion(Self.paths($1)) }.sorted()
    }

    static func paths(_ pattern: String) -> Set<String> {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, GLOB_NOSORT, nil, &found) == 0, let names = found.gl_pathv else { return [] }
        var paths: Set<String> = []
        for place in 0..<Int(found.gl_pathc) {
            if let name = names[place] { paths.insert(String(cString: name)) }
        }
        return paths
    }

    func find(_ path: String, _ batch: inout IntakeBatch, _ now: Int64) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        let key = FilePosition.key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        if files[key] != nil {
            if files[key]!.position.path != path {
                files[key]!.position.path = path
                batch.set(key, files[key]!.position.encoded)
            }
            files[key]!.isMatched = true
            files[key]!.isLinked = Self.isLinked(path, status)
            files[key]!.missing = 0
            return
        }
        var position = FilePosition(path: path)
        if !isStarted { begin(&position, status) }
        if let original = original(ofCopy: path) {
            position = files[original]!.position
            position.path = path
            position.copyOf = original
            position.open = nil
        }
        files[key] = Tracked(
            position: position, lastRead: now, isMatched: true, isLinked: Self.isLinked(path, status))
        batch.set(key, position.encoded)
    }

    /// The first start: old lines may be left where they are.
    func begin(_ position: inout FilePosition, _ status: stat) {
        switch configuration.start {
        case .all: return
        case .since(let time):
            let changed = Int64(status.st_mtim.tv_sec) * 1_000_000 + Int64(status.st_mtim.tv_nsec) / 1000
            if changed >= time { return }
        case .now: break
        }
        let descriptor = open(position.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        position.size = Int(status.st_size)
        // A line that is being written is taken whole.
        let start = max(0, position.size - buffer.count)
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<min(buffer.count, readBytes(descriptor, at: start))])
        let offset = bytes.lastIndex(of: UInt8(ascii: "\n")).map { start + $0 + 1 } ?? start
        guard let mark = FilePosition.Mark(descriptor, offset: offset) else { return }
        position.offset = offset
        position.mark = mark
    }

    /// The file of which this is a copy that rotation made: its name begins with that of the original, and it has the
    /// content of the original, as far as the copying went.
    func original(ofCopy path: String) -> String? {
        let candidates = files.filter {
            $0.value.position.offset > 0 && $0.value.position.copyOf == nil
                && Self.isRotation(path, of: $0.value.position.path)
        }
        guard !candidates.isEmpty else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return candidates.keys.sorted().first { isCopy(descriptor, of: $0, files[$0]!.position) }
    }

    /// Whether a name is that of a file with what rotation adds to it: `.1`, `-20261129`, `_old`, `~`.
    static func isRotation(_ path: String, of original: String) -> Bool {
        guard path.hasPrefix(original), let next = path.dropFirst(original.count).first else { return false }
        return ".-_~".contains(next)
    }

    func isCopy(_ descriptor: Int32, of key: String, _ original: FilePosition) -> Bool {
        if original.isContinued(by: descriptor) { return true }
        // The copy may not be whole yet; what is there is compared with the original itself.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0, Int(status.st_size) < original.offset,
            Self.isThere(original.path, key)
        else { return false }
        let other = open(original.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard other >= 0 else { return false }
        defer { close(other) }
        guard let mark = FilePosition.Mark(descriptor, offset: Int(status.st_size)) else { return false }
        return mark == FilePosition.Mark(other, offset: Int(status.st_size))
    }

    /// A file that no pattern matches any more: it was renamed or removed.
    func follow(_ key: String, _ file: Tracked) {
        var status = stat()
        if Self.isThere(file.position.path, key, &status) {
            files[key]!.missing = 0
            files[key]!.isLinked = Self.isLinked(file.position.path, status)
            if file.position.isRotated { return }
        }
        if let name = renamed(file.position.path, key) {
            files[key]!.position.path = name
            files[key]!.position.isRotated = true
            files[key]!.missing = 0
        } else {
            files[key]!.missing += 1
        }
    }

    static func isThere(_ path: String, _ key: String) -> Bool {
        var status = stat()
        return isThere(path, key, &status)
    }

    static func isThere(_ path: String, _ key: String, _ status: inout stat) -> Bool {
        stat(path, &status) == 0
            && FilePosition.key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) == key
    }

    /// The present name of a file, in its directory.
    func renamed(_ path: String, _ key: String) -> String? {
        guard let parent = Paths.parent(of: path), let names = try? Files<FileError>.names(in: parent) else {
            return nil
        }
        return names.map { "\(parent)/\($0)" }.first { Self.isThere($0, key) }
    }

    // MARK: - Copies

    /// Lets the copy of a file go on where the file was. Without one the open event is complete, and what nobody can
    /// read any more is counted.
    func passOn(_ key: String, _ file: Tracked, _ batch: inout IntakeBatch) {
        var heir = files.keys.sorted().first { files[$0]?.position.copyOf == key }
        if heir == nil, let (copy, path) = unmatchedCopy(of: file) {
            heir = copy
            files[copy] = Tracked(position: FilePosition(path: path), lastRead: file.lastRead)
        }
        if heir == nil, let (copy, path) = compressedCopy(of: file) {
            heir = copy
            files[copy] = Tracked(position: FilePosition(path: path), lastRead: file.lastRead)
            files[copy]!.position.isCompressed = true
        }
        guard let heir, let path = files[heir]?.position.path else {
            var assembler = EventAssembler(limit: configuration.maximumEventBytes, isStart: configuration.isEventStart)
            assembler.open = file.position.open
            assembler.finish { batch.add(entry($0, file.position.path)) }
            let unread = max(0, file.position.size - file.position.offset)
            if unread > 0 {
                batch.report(
                    "a file was truncated or removed before it was read to its end",
                    ["file": file.position.path, "bytes": "\(unread)", "from": "\(file.position.offset)"])
            }
            return
        }
        var position = file.position
        position.path = path
        position.isRotated = true
        position.isCompressed = files[heir]!.position.isCompressed
        // What is compressed was compared just now.
        let descriptor = position.isCompressed == true ? -1 : openFile(path, heir)
        if descriptor >= 0, !position.isContinued(by: descriptor) {
            // It was made before the last lines were read. So all of it was read.
            var status = stat()
            fstat(descriptor, &status)
            position.offset = Int(status.st_size)
            position.mark = FilePosition.Mark(descriptor, offset: position.offset) ?? position.mark
        }
        if descriptor >= 0 { close(descriptor) }
        files[heir]!.position = position
        files[heir]!.drained = nil
        restless.insert(heir)
        batch.set(heir, position.encoded)
    }

    /// A copy in the same directory that no pattern matches.
    func unmatchedCopy(of file: Tracked) -> (key: String, path: String)? {
        let path = file.position.path
        guard file.position.offset > 0, let parent = Paths.parent(of: path),
            let names = try? Files<FileError>.names(in: parent)
        else { return nil }
        for name in names.sorted() where Self.isRotation("\(parent)/\(name)", of: path) {
            let copy = "\(parent)/\(name)"
            let descriptor = open(copy, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                case let key = FilePosition.key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)),
                files[key] == nil, !copy.hasSuffix(CompressedFile.suffix),
                file.position.isContinued(by: descriptor)
            else { continue }
            return (key, copy)
        }
        return nil
    }
}
