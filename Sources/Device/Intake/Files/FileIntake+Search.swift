import Glibc
import LogStore
import TelemetryBasics

/// Which files there are.
extension FileIntake {
    /// Looks for all files: those that a pattern matches, and those that are tracked under another name by now.
    ///
    /// What is known by its inode comes first, then what is known by its content, and only the rest is new.
    /// - Returns: `false` if it was interrupted. Then it is done again from its beginning.
    func search(_ batch: inout IntakeBatch, _ now: Int64) -> Bool {
        problems = []
        for key in files.keys { files[key]!.isMatched = false }
        names = nil
        var unknown: [(path: String, status: stat)] = []
        let store = configuration.storeDirectory.flatMap(Self.resolved)
        // A compressed file is no text. What was not read before it was compressed is read by another way.
        for path in matches() where !path.hasSuffix(CompressedFile.suffix) {
            if isStopping { return false }
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            if match(path, status, &batch) { continue }
            if let store, Self.resolved(path)?.hasPrefix(store + "/") == true {
                note("files in \(store) are the agent's own, so they are not read: name other files")
            } else {
                unknown.append((path, status))
            }
        }
        for (key, file) in files where !file.isMatched {
            if isStopping { return false }
            follow(key, file, &batch)
        }
        for (path, status) in unknown {
            if isStopping { return false }
            if !match(path, status, &batch) { track(path, status, &batch, now) }
        }
        if !isStarted {
            isStarted = true
            batch.set(Self.startedKey, [1])
        }
        return true
    }

    func matches() -> [String] {
        var found: Set<String> = []
        for pattern in configuration.patterns {
            found.formUnion(
                Self.paths(pattern) { name in
                    note("a file's name is no UTF-8, so it is not read; rename it: \(name)")
                })
        }
        for directory in directories() {
            guard let stream = opendir(directory) else {
                if errno == EACCES { note("\(FileError("opening", directory))") }
                continue
            }
            closedir(stream)
        }
        return found.sorted()
    }

    /// The path without links, dots and doubled slashes.
    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// A problem that holds until the next search.
    private func note(_ problem: String) {
        if problems.count < 10, !problems.contains(problem) { problems.append(problem) }
    }

    /// - Parameter unreadable: receives names that are no UTF-8, with U+FFFD in them.
    static func paths(_ pattern: String, unreadable: (String) -> Void = { _ in }) -> Set<String> {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, GLOB_NOSORT, nil, &found) == 0, let names = found.gl_pathv else { return [] }
        var paths: Set<String> = []
        for place in 0..<Int(found.gl_pathc) {
            guard let name = names[place] else { continue }
            if let path = String(validatingCString: name) {
                paths.insert(path)
            } else {
                unreadable(String(cString: name))
            }
        }
        return paths
    }

    /// - Returns: whether it is a file that is tracked.
    private func match(_ path: String, _ status: stat, _ batch: inout IntakeBatch) -> Bool {
        let key = FilePosition.key(status)
        guard let file = files[key] else { return false }
        // Of several names the one that is known stays.
        if file.position.path != path, !Self.isThere(file.position.path, key) { move(key, to: path, &batch) }
        files[key]!.isMatched = true
        files[key]!.isLinked = Self.isLinked(path, status)
        files[key]!.missing = 0
        return true
    }

    /// A file has another name by now.
    private func move(_ key: String, to path: String, _ batch: inout IntakeBatch) {
        // An event that is open may go on in the file that takes this one's place.
        if configuration.isEventStart != nil {
            if formerPaths.count >= 1000 { formerPaths = [:] }
            formerPaths[files[key]!.position.path] = key
        }
        files[key]!.position.path = path
        files[key]!.position.isRotated = true
        files[key]!.missing = 0
        // Its last line waits from now on for its end.
        files[key]!.lastRead = clock.bootMilliseconds()
        batch.set(key, files[key]!.position.encoded)
    }

    /// A file that no pattern matches any more: it was renamed, replaced or removed.
    private func follow(_ key: String, _ file: Tracked, _ batch: inout IntakeBatch) {
        var status = stat()
        if Self.isThere(file.position.path, key, &status) {
            files[key]!.missing = 0
            files[key]!.isLinked = Self.isLinked(file.position.path, status)
        } else if let path = listing(besides: file.position.path)?.path(of: key) {
            move(key, to: path, &batch)
        } else if !continueInOther(key, file, &batch), !isStopping {
            files[key]!.missing += 1
            if file.position.copyOf != nil, files[key]!.missing > 1 { forget(key, &batch) }
        }
    }

    private func track(_ path: String, _ status: stat, _ batch: inout IntakeBatch, _ now: Int64) {
        let key = FilePosition.key(status)
        var position = FilePosition(path: path)
        if let former = comeBack(path, key, &batch) {
            position = former
        } else if !isStarted {
            begin(&position, status)
        }
        files[key] = Tracked(
            position: position, lastRead: now, isMatched: true, isLinked: Self.isLinked(path, status),
            predecessor: formerPaths.removeValue(forKey: path),
            isUndecided: (isStarted || status.st_size == 0) && position.startsAt == nil)
        batch.set(key, position.encoded)
    }

    /// The first start: old lines may be left where they are.
    private func begin(_ position: inout FilePosition, _ status: stat) {
        switch configuration.start {
        case .all: return
        case .since(let time):
            let changed = Int64(status.st_mtim.tv_sec) * 1_000_000 + Int64(status.st_mtim.tv_nsec) / 1000
            if changed >= time { return }
        case .now: break
        }
        position.size = Int(status.st_size)
        let descriptor = openAny(position.path)
        defer { if descriptor >= 0 { close(descriptor) } }
        if descriptor < 0 || !skip(to: position.size, descriptor, &position) { position.startsAt = position.size }
    }

    /// Leaves out the lines before a size. A line that is being written there is taken whole.
    func skip(to size: Int, _ descriptor: Int32, _ position: inout FilePosition) -> Bool {
        let start = max(0, size - buffer.count)
        let count = min(size - start, readBytes(descriptor, at: start))
        let offset =
            UnsafeRawBufferPointer(rebasing: buffer[..<count]).lastIndex(of: UInt8(ascii: "\n"))
            .map { start + $0 + 1 } ?? start
        guard let mark = FilePosition.Mark(descriptor, offset: offset) else { return false }
        position.offset = offset
        position.mark = mark
        return true
    }

    static func isThere(_ path: String, _ key: String) -> Bool {
        var status = stat()
        return isThere(path, key, &status)
    }

    static func isThere(_ path: String, _ key: String, _ status: inout stat) -> Bool {
        stat(path, &status) == 0 && FilePosition.key(status) == key
    }

    /// The directory in which a file is, as it was when it was first asked for in this read.
    func listing(besides path: String) -> DirectoryListing? {
        guard let parent = Paths.parent(of: path) else { return nil }
        if let known = listings[parent] { return known }
        let new = DirectoryListing(parent, goesOn: { !isStopping })
        if !isStopping { listings[parent] = new }
        return new
    }
}
