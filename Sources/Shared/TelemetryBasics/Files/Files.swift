import Glibc

/// Operations on files by their names. `Failure` is the error of the target that asks.
package enum Files<Failure: FileFailure> {
    /// The file's first bytes, at most so many; `nil` where there is no such file. An endless or huge file is not read
    /// on.
    /// - Parameter flags: beside `O_RDONLY` and `O_CLOEXEC`, of open(2).
    package static func read(_ path: String, maximumBytes: Int, flags: Int32 = 0) throws(Failure) -> [UInt8]? {
        guard let file = try OpenFile<Failure>.reading(path, flags: flags) else { return nil }
        // A file of /proc says that it has no bytes, a pipe does not know.
        var bytes = try file.read(min(maximumBytes, max(4096, try file.byteCount() + 1)))
        while bytes.count < maximumBytes {
            let more = try file.read(min(maximumBytes - bytes.count, bytes.count + 4096))
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    /// How far a replacement is on synced disk when ``replace(_:with:through:sync:)`` returns.
    package enum Sync {
        /// A crash of the machine may leave an empty file.
        case none
        /// After a crash of the machine the file is the old one or the new one.
        case content
        /// A crash of the machine leaves the new file.
        case contentAndName
    }

    /// Replaces a file in one step, mode 0600: a new file is written beside it, synced and renamed, and the directory
    /// is synced. If root replaces it, the owner stays: a service goes on with what root changed for it. One thread at
    /// a time replaces a file.
    /// - Parameter suffix: of the new file's name until it is whole; what an earlier attempt left there is removed.
    package static func replace(
        _ path: String, with bytes: RawSpan, through suffix: String = ".new", sync: Sync = .contentAndName
    ) throws(Failure) {
        let new = path + suffix
        try write(bytes, to: new, sync: sync)
        keepOwner(of: path, for: new)
        do { try rename(new, to: path) } catch {
            unlink(new)
            throw error
        }
        if sync == .contentAndName { try syncDirectory(of: path) }
    }

    private static func keepOwner(of path: String, for new: String) {
        var former = stat()
        guard geteuid() == 0, lstat(path, &former) == 0, former.st_uid != 0 else { return }
        _ = lchown(new, former.st_uid, former.st_gid)
    }

    /// Makes a file with this content, over what an earlier attempt left there. Nothing is left of one that fails.
    package static func write(_ bytes: RawSpan, to path: String, sync: Sync) throws(Failure) {
        try remove(path)
        let file = try OpenFile<Failure>(creating: path)
        do {
            try file.write(bytes)
            if sync != .none { try file.sync() }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Over what is there under the new name.
    package static func rename(_ path: String, to target: String) throws(Failure) {
        guard Glibc.rename(path, target) == 0 else { throw Failure(FileError("renaming", path)) }
    }

    /// Harmless where there is none.
    package static func remove(_ path: String) throws(Failure) {
        guard unlink(path) == 0 || errno == ENOENT else { throw Failure(FileError("removing", path)) }
    }

    /// An empty directory; harmless where there is none.
    package static func removeDirectory(_ path: String) throws(Failure) {
        guard rmdir(path) == 0 || errno == ENOENT else { throw Failure(FileError("removing", path)) }
    }

    /// Returns once the names made, changed and removed in the directory are on synced disk.
    package static func sync(directory: String) throws(Failure) {
        let descriptor = retryingOnInterrupt { open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw Failure(FileError("opening", directory)) }
        try OpenFile<Failure>(descriptor: descriptor, path: directory).sync()
    }

    /// Likewise, of the directory in which the path is a name.
    package static func syncDirectory(of path: String) throws(Failure) {
        try sync(directory: Paths.parent(of: path) ?? ".")
    }

    /// Makes a directory, mode 0700, with those above it; harmless where it is there.
    /// - Parameter syncing: whether the new names are on synced disk when it returns.
    package static func makeDirectory(_ path: String, syncing: Bool) throws(Failure) {
        let parent = Paths.parent(of: path)
        if mkdir(path, 0o700) != 0 {
            if errno == EEXIST { return }
            guard errno == ENOENT, let parent else { throw Failure(FileError("making", path)) }
            try makeDirectory(parent, syncing: syncing)
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Failure(FileError("making", path)) }
        }
        if syncing { try sync(directory: parent ?? ".") }
    }

    /// The names in a directory, in no order.
    /// - Throws: also where there is no such directory.
    package static func names(in directory: String) throws(Failure) -> [String] {
        guard let stream = opendir(directory) else { throw Failure(FileError("opening", directory)) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

/// Questions about a path that cannot fail.
package enum Paths {
    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// `nil` where there is no such file.
    package static func size(of path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// The directory in which the path is a name, as the path has it; `nil` for `/` and for a name alone.
    package static func parent(of path: String) -> String? {
        guard let slash = path.lastIndex(of: "/") else { return nil }
        return slash == path.startIndex ? (path == "/" ? nil : "/") : String(path[..<slash])
    }
}
