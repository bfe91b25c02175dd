import Glibc
import TelemetryBasics

/// Which tracked file a file is, by its content.
///
/// An inode is a hint. It changes where the content stays (`sed -i`, a disk that gets another number, a file that is
/// moved away and back), and it stays where the content changes. So a file whose inode is unknown is compared:
///
///     with the file that was at its path and is gone      it goes on
///     with one that was given up                          it goes on
///     with one that is there                              it is a copy, if it is no longer and nowhere different
///
/// A copy holds lines that are read in its original. It is not read itself before its original is truncated or gone;
/// see ``passOn(_:_:_:)``.
extension FileIntake {
    /// What a file's content is to another one's that is tracked.
    enum Relation {
        /// All of it is in the other one, from its beginning.
        case copy
        /// It has what was read of the other one, which has it no more.
        case heir
        /// The other one has no longer what was read of it.
        case unknown
        case different
    }

    func relation(_ descriptor: Int32, to key: String) -> Relation {
        guard let original = files[key], original.position.offset > 0 else { return .different }
        let other = original.descriptor >= 0 ? original.descriptor : openFile(original.position.path, key)
        defer { if other >= 0, other != original.descriptor { close(other) } }
        if other >= 0, original.position.isContinued(by: other) {
            let size = Self.size(descriptor)
            guard size <= Self.size(other), let mark = FilePosition.Mark(descriptor, offset: size) else {
                return .different
            }
            return mark == FilePosition.Mark(other, offset: size) ? .copy : .different
        }
        return original.position.isContinued(by: descriptor) ? .heir : .unknown
    }

    static func size(_ descriptor: Int32) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    // MARK: - Copies

    /// The file of which this one is a copy that rotation made, by name and content.
    func original(of key: String, _ descriptor: Int32) -> String? {
        guard let path = files[key]?.position.path else { return nil }
        let names =
            self.names
            ?? Dictionary(
                grouping: files.flatMap { file in
                    RotatedName.origins(file.value.position.path).map { ($0, file.key) }
                }, by: \.0
            ).mapValues { $0.map(\.1).sorted() }
        self.names = names
        let candidates = RotatedName.prefixes(path).flatMap { names[$0] ?? [] }
        guard !candidates.isEmpty else { return nil }
        let count = min(readBytes(descriptor, at: 0), FilePosition.Mark.maximumHeadBytes)
        let sums = FilePosition.Mark.sums(buffer[..<count])
        // A thousand files with one header are compared with a few of them.
        return candidates.lazy.filter { [files] candidate in
            guard let other = files[candidate], candidate != key, other.position.copyOf == nil else { return false }
            return other.position.isCompressed != true && other.position.offset > 0
                && other.position.mark.canBegin(sums) && RotatedName.isRotation(path, of: other.position.path)
        }.prefix(64).first { [.copy, .heir].contains(relation(descriptor, to: $0)) }
    }

    /// - Parameter original: `nil`: it is a file of its own.
    func setCopy(_ key: String, of original: String?) {
        if let former = files[key]?.position.copyOf { copies[former]?.remove(key) }
        files[key]?.position.copyOf = original
        if let original { copies[original, default: []].insert(key) }
    }

    /// Looks at a copy.
    /// - Returns: `false` if it is none, and is to be read from its beginning.
    func remainsCopy(_ key: String, _ batch: inout IntakeBatch) -> Bool {
        guard var file = files[key], let original = file.position.copyOf else { return false }
        if files[original] != nil {
            guard hasChanged(&file), case let descriptor = openFile(file.position.path, key), descriptor >= 0 else {
                return true
            }
            defer { close(descriptor) }
            switch relation(descriptor, to: original) {
            case .copy:
                if file.position.settle(descriptor, at: Self.size(descriptor)) {
                    files[key] = file
                    batch.set(key, file.position.encoded)
                }
                return true
            case .heir, .unknown:
                // It is decided when the original is read.
                restless.insert(original)
                return true
            case .different: break
            }
        }
        // It only began like the other one.
        setCopy(key, of: nil)
        files[key]!.position = FilePosition(path: file.position.path)
        files[key]!.drained = nil
        files[key]!.isUndecided = false
        return false
    }

    // MARK: - Files that changed their inode

    /// Finds out whether a file whose inode is gone goes on in another one: at its path, as after `sed -i`; or, after a
    /// start, as a rotation in its directory, because the disk may have another number since.
    func continueInOther(_ key: String, _ file: Tracked, _ batch: inout IntakeBatch) -> Bool {
        guard file.position.isCompressed != true else { return false }
        var old = stat()
        // It has a name elsewhere, so it is not gone.
        if file.descriptor >= 0, fstat(file.descriptor, &old) != 0 || old.st_nlink > 0 { return false }
        let path = file.position.path
        var candidates = [path]
        if file.descriptor < 0, file.position.offset > 0, let listing = listing(besides: path) {
            candidates += listing.rotations(of: path).filter { files[$0.key] == nil }.map(\.path)
        }
        for candidate in candidates where !candidate.hasSuffix(CompressedFile.suffix) {
            var status = stat()
            guard stat(candidate, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                case let new = FilePosition.key(status), files[new] == nil,
                case let descriptor = openFile(candidate, new), descriptor >= 0
            else { continue }
            defer { close(descriptor) }
            guard file.position.isContinued(by: descriptor), Int(status.st_size) >= file.position.size else { continue }
            // What was not read yet of the old one is in the new one too.
            if file.descriptor >= 0 {
                guard let whole = FilePosition.Mark(descriptor, offset: Int(old.st_size)),
                    whole == FilePosition.Mark(file.descriptor, offset: Int(old.st_size))
                else { continue }
                closing[key] = file.descriptor
            }
            var next = file
            next.descriptor = -1
            next.drained = nil
            next.missing = 0
            next.position.path = candidate
            if candidate != path { next.position.isRotated = true }
            let own = copies.removeValue(forKey: key) ?? []
            forget(key, &batch)
            given[new] = nil
            files[new] = next
            setCopy(new, of: next.position.copyOf)
            for copy in own {
                setCopy(copy, of: new)
                batch.set(copy, files[copy]?.position.encoded)
            }
            batch.set(new, next.position.encoded)
            restless.insert(new)
            return true
        }
        return false
    }

    /// The position of a file that was given up and is there again, by inode or path, and by content.
    func comeBack(_ path: String, _ key: String, _ batch: inout IntakeBatch) -> FilePosition? {
        let former = [key] + given.filter { $0.value.path == path && $0.key != key }.keys.sorted()
        for old in former {
            guard var position = given[old], position.offset > 0, case let descriptor = openFile(path, key),
                descriptor >= 0
            else { continue }
            defer { close(descriptor) }
            guard position.isContinued(by: descriptor) else { continue }
            given[old] = nil
            batch.set(old, nil)
            position.gone = nil
            position.path = path
            return position
        }
        given[key] = nil
        return nil
    }

    /// Remembers a file that is gone, for a while.
    func giveUp(_ key: String, _ position: FilePosition, _ batch: inout IntakeBatch) {
        var position = position
        position.gone = clock.wallMicroseconds()
        position.open = nil
        forget(key, &batch)
        guard position.offset > 0, position.isCompressed != true else { return }
        given[key] = position
        batch.set(key, position.encoded)
        while given.count > Self.maximumGiven,
            let oldest = given.min(by: { ($0.value.gone ?? 0, $0.key) < ($1.value.gone ?? 0, $1.key) })
        {
            given[oldest.key] = nil
            batch.set(oldest.key, nil)
        }
    }

    /// Tracks a file no longer.
    func forget(_ key: String, _ batch: inout IntakeBatch) {
        setCopy(key, of: nil)
        compressed[key] = nil
        files[key] = nil
        setOpenBytes(key, nil)
        batch.set(key, nil)
    }
}
