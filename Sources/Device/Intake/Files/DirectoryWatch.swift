import Glibc
import TelemetryBasics

/// Says what changes in directories, with one descriptor for all sources (inotify(7)). Watches are on directories, so
/// ten thousand files in one cost one.
///
/// It is a hint and never a proof: what it misses, a poll finds. So each doubt is answered with "look at everything".
/// Not `Sendable`: one thread uses it.
package final class DirectoryWatch {
    /// What changed since the last question.
    struct News: Equatable {
        /// Files whose content changed.
        var paths: Set<String> = []
        /// Names came or went, or nobody knows what happened.
        var isSearchNeeded = false
    }

    /// Content and names. `IN_ATTRIB` also says that a file got a further link, and so a name that is not watched.
    private static let mask = [
        IN_MODIFY, IN_ATTRIB, IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_DELETE_SELF, IN_MOVE_SELF,
        IN_ONLYDIR,
    ].reduce(UInt32(0)) { $0 | UInt32($1) }

    private struct Reader {
        var directories: Set<String> = []
        var news = News()
    }

    /// -1: there is none, as when the user has too many (`fs.inotify.max_user_instances`).
    private let descriptor: Int32
    private let sendsEvents: (String) -> Bool
    private var readers: [Int: Reader] = [:]
    private var nextReader = 0
    /// A directory may have several paths, by symbolic links. It has one watch.
    private var watched: [Int32: Set<String>] = [:]

    package convenience init() { self.init(sendsEvents: { DirectoryWatch.isLocal($0) }) }

    /// - Parameter sendsEvents: whether the file system of a directory says what others change in it.
    init(sendsEvents: @escaping (String) -> Bool) {
        self.sendsEvents = sendsEvents
        // The flags of `inotify_init1` are those of `open`.
        descriptor = inotify_init1(O_CLOEXEC | O_NONBLOCK)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// - Returns: the number of a new reader, for the other calls.
    func addReader() -> Int {
        defer { nextReader += 1 }
        readers[nextReader] = Reader()
        return nextReader
    }

    func removeReader(_ reader: Int) {
        readers[reader] = nil
        dropUnused()
    }

    /// Watches these directories for a reader, and no others.
    /// - Returns: `false` if not each of them can be watched: no watch is left (`fs.inotify.max_user_watches`), a
    ///   directory does not exist, or its file system sends no events.
    func set(_ directories: Set<String>, for reader: Int) -> Bool {
        var isComplete = descriptor >= 0
        var added: Set<String> = []
        let known = watched.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        for directory in directories.sorted() where isComplete {
            // A path may lead to another directory by now. The same one gives the same watch.
            let watch = inotify_add_watch(descriptor, directory, Self.mask)
            if watch >= 0, watched[watch]?.contains(directory) != true {
                if known.contains(directory) { for other in watched.keys { watched[other]!.remove(directory) } }
                if sendsEvents(directory) {
                    watched[watch, default: []].insert(directory)
                } else {
                    if watched[watch] == nil { inotify_rm_watch(descriptor, watch) }
                    isComplete = false
                }
            } else if watch < 0 {
                isComplete = false
            }
            guard isComplete else { break }
            added.insert(directory)
        }
        // Who polls all the same leaves the watches to others.
        readers[reader]?.directories = isComplete ? added : []
        dropUnused()
        return isComplete
    }

    /// What changed since the last call. Does not wait; costs one system call if nothing did.
    func news(for reader: Int) -> News {
        readEvents()
        defer { readers[reader]?.news = News() }
        return readers[reader]?.news ?? News(isSearchNeeded: true)
    }

    private func dropUnused() {
        let used = readers.values.reduce(into: Set<String>()) { $0.formUnion($1.directories) }
        for (watch, paths) in watched {
            let kept = paths.intersection(used)
            watched[watch] = kept.isEmpty ? nil : kept
            if kept.isEmpty { inotify_rm_watch(descriptor, watch) }
        }
    }

    private func readEvents() {
        guard descriptor >= 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
            while true {
                let count = retryingOnInterrupt { read(descriptor, buffer.baseAddress!, buffer.count) }
                guard count > 0 else { return }
                take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            }
        }
    }

    /// Takes events as the kernel gives them: watch, mask, cookie and length of the name, 4 bytes each, and the name,
    /// filled up with zeros.
    func take(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset + 16 <= bytes.count {
            let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            guard length <= bytes.count - offset - 16 else { break }
            let name = bytes[(offset + 16)..<(offset + 16 + length)].prefix { $0 != 0 }
            tell(watch, mask, name.isEmpty ? nil : String(decoding: name, as: UTF8.self))
            offset += 16 + length
        }
    }

    private func tell(_ watch: Int32, _ mask: UInt32, _ name: String?) {
        if mask & UInt32(IN_Q_OVERFLOW) != 0 {
            for reader in readers.keys { readers[reader]!.news.isSearchNeeded = true }
            return
        }
        let paths = watched[watch] ?? []
        if mask & UInt32(IN_IGNORED) != 0 { watched[watch] = nil }
        for (number, reader) in readers {
            for path in paths.intersection(reader.directories) {
                if mask & UInt32(IN_MODIFY) != 0, let name {
                    readers[number]!.news.paths.insert(path == "/" ? "/\(name)" : "\(path)/\(name)")
                } else {
                    readers[number]!.news.isSearchNeeded = true
                }
            }
        }
    }

    /// Whether a directory's file system is one where every change goes through this kernel. Network file systems and
    /// those that are unknown are not.
    static func isLocal(_ directory: String) -> Bool {
        var status = stat()
        guard stat(directory, &status) == 0,
            let mounts = try? Files<FileError>.read("/proc/self/mountinfo", maximumBytes: 4 << 20)
        else { return false }
        return isLocal(device: UInt64(status.st_dev), String(decoding: mounts, as: UTF8.self))
    }

    /// - Parameter mounts: lines as in proc(5): `24 1 8:1 / / rw - ext4 /dev/sda1 rw`.
    static func isLocal(device: UInt64, _ mounts: String) -> Bool {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
        let number = "\(major):\(minor)"
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2, fields[2] == number, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
            else { continue }
            return localTypes.contains(String(fields[dash + 1]))
        }
        return false
    }

    private static let localTypes: Set<String> = [
        "ext2", "ext3", "ext4", "xfs", "f2fs", "tmpfs", "ramfs", "overlay", "zfs", "ubifs", "jffs2", "squashfs",
    ]
}
