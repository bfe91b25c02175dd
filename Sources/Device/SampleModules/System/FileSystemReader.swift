import Glibc
import WireModel

/// The sizes of the machine's local file systems. The mount table is read for each sample, because otherwise the
/// directory below could answer for an unmounted file system. It is parsed only if it changed.
struct FileSystemReader: Sendable {
    private var table: [UInt8] = []
    private var selected: [MountInfo.Mount] = []

    mutating func read(_ reader: inout FileReader, maximumBytes: Int) -> [WireFileSystem] {
        let known = table
        let change = reader.parse(MountInfo.path, maximumBytes: maximumBytes, keepOpen: true) { bytes -> Change? in
            if bytes.elementsEqual(known) { return .same }
            let info = MountInfo(bytes)
            return info.mounts.isEmpty ? nil : .new(info, [UInt8](bytes))
        }
        switch change {
        case nil:
            (table, selected) = ([], [])
        case .same:
            break
        case .new(let info, let bytes):
            table = bytes
            selected = info.selected { path in
                reader.host.fileStatus(path).map { $0.mode & S_IFMT == S_IFDIR } ?? true
            }
        }
        return selected.compactMap { mount in
            guard let figures = reader.host.fileSystemFigures(at: mount.mountPoint) else { return nil }
            return WireFileSystem(mount, figures)
        }
    }

    private enum Change {
        case same
        case new(MountInfo, [UInt8])
    }
}

extension WireFileSystem {
    /// `nil` for impossible figures: no size, or more free than there is.
    fileprivate init?(_ mount: MountInfo.Mount, _ figures: FileSystemFigures) {
        guard figures.blocks > 0, figures.blocksFree <= figures.blocks, figures.blocksAvailable <= figures.blocks,
            figures.blockSize > 0, !figures.blocks.multipliedReportingOverflow(by: figures.blockSize).overflow
        else { return nil }
        self.init()
        mountPoint = mount.mountPoint
        type = mount.type
        device = mount.source
        size = figures.blocks * figures.blockSize
        used = (figures.blocks - figures.blocksFree) * figures.blockSize
        available = figures.blocksAvailable * figures.blockSize
        if figures.blocksAvailable <= figures.blocksFree {
            reserved = (figures.blocksFree - figures.blocksAvailable) * figures.blockSize
        }
        inodes = figures.inodes
        inodesFree = min(figures.inodesFree, figures.inodes)
        readOnly = mount.readOnly
    }
}

/// `/proc/self/mountinfo`: what is mounted where.
struct MountInfo: Equatable {
    static let path = "/proc/self/mountinfo"
    /// Enough for a busy container host.
    static let maximumMounts = 16_384

    struct Mount: Equatable {
        var id: UInt64
        var parent: UInt64
        /// "major:minor" of the superblock: the same for bind mounts of one file system.
        var device: String
        /// The part of the file system that is mounted; "/" unless it is a bind mount or subvolume.
        var root: String
        var mountPoint: String
        /// Whether the file system itself is read-only. A sandbox, such as systemd's `ProtectSystem=strict`, makes only
        /// this process's mounts of it read-only, and other processes may write.
        var readOnly: Bool
        var type: String
        var source: String
    }

    var mounts: [Mount] = []
    /// Lines that could not be parsed.
    var oddLines = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            guard let mount = Self.mount(line) else {
                oddLines += 1
                continue
            }
            guard mounts.count < Self.maximumMounts else { return }
            mounts.append(mount)
        }
    }

    private static func mount(_ line: UnsafeRawBufferPointer) -> Mount? {
        var scanner = ByteScanner(line)
        guard let id = scanner.number(), let parent = scanner.number(), let device = scanner.word(),
            let root = scanner.word(),
            let mountPoint = scanner.word(), scanner.word() != nil  // The options of this mount.
        else { return nil }
        // Optional fields (shared:1, master:2 and so on) end with a single hyphen.
        while true {
            guard let field = scanner.word() else { return nil }
            if field.equals("-") { break }
        }
        guard let type = scanner.word(), let source = scanner.word() else { return nil }
        let options = scanner.word()
        return Mount(
            id: id, parent: parent, device: device.text, root: unescaped(root), mountPoint: unescaped(mountPoint),
            readOnly: options.map(isReadOnly) == true, type: type.text, source: unescaped(source))
    }

    private static func isReadOnly(_ options: UnsafeRawBufferPointer) -> Bool {
        options.count >= 2 && options[0] == 0x72 && options[1] == 0x6f && (options.count == 2 || options[2] == 0x2c)
    }

    /// Blank, tab, line end and backslash are written as `\` and three octal digits.
    private static func unescaped(_ bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.contains(0x5c) else { return bytes.text }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x5c, index + 3 < bytes.count,
                bytes[(index + 1)...(index + 3)].allSatisfy({ $0 >= 0x30 && $0 <= 0x37 })
            {
                let code = bytes[(index + 1)...(index + 3)].reduce(0) { $0 << 3 | Int($1 - 0x30) }
                plain.append(UInt8(truncatingIfNeeded: code))
                index += 4
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}

extension MountInfo {
    /// The most file systems in a sample. The root is always included.
    static let maximumSelected = 64

    /// Local disk file systems that name no device under /dev.
    private static let localTypes: Set<String> = ["zfs", "btrfs", "bcachefs", "ubifs", "jffs2", "yaffs2"]

    /// Read-only images, which are always full, and file systems that a server or daemon answers for.
    private static let skippedTypes: Set<String> = [
        "squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs", "fuse", "autofs", "devtmpfs", "tmpfs", "ramfs",
    ]

    private static let networkTypes: Set<String> = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p", "virtiofs", "ceph", "glusterfs", "lustre",
        "gfs2",
        "ocfs2", "beegfs", "davfs", "orangefs", "pvfs2", "gpfs", "fuse", "autofs",
    ]

    /// The mounts whose figures are sent: local disks, each once.
    ///
    /// A mount is included if its source is a device or its type is a local one. At `/`, anything that is not on a
    /// network is included, because live systems and containers have their root in memory or on an overlay.
    ///
    /// Left out are images, and everything on a network or behind FUSE, because asking may hang. Mounts that another
    /// mount covers are left out too: asking would reach the other one. Of several mounts of one file system, the whole
    /// is preferred to a part, and the shortest path to longer ones.
    ///
    /// - Parameter isDirectory: whether the path is one. A container has files of its own, such as `/etc/hosts`,
    ///   mounted from the host's disk.
    func selected(isDirectory: (String) -> Bool = { _ in true }) -> [Mount] {
        var best: [String: Mount] = [:]
        for mount in mounts
        where Self.isWorthAsking(mount) && !isCovered(mount) && isDirectory(mount.mountPoint) {
            if let other = best[mount.device], !Self.precedes(mount, other) { continue }
            best[mount.device] = mount
        }
        let ordered = best.values.sorted(by: Self.precedesInList)
        return Array(ordered.prefix(Self.maximumSelected))
    }

    private static func isWorthAsking(_ mount: Mount) -> Bool {
        if networkTypes.contains(mount.type) || mount.type.hasPrefix("fuse.") { return false }
        if mount.mountPoint == "/" { return true }
        if skippedTypes.contains(mount.type) { return false }
        return mount.source.hasPrefix("/dev/") || localTypes.contains(mount.type)
    }

    private static func precedes(_ mount: Mount, _ other: Mount) -> Bool {
        if (mount.mountPoint == "/") != (other.mountPoint == "/") { return mount.mountPoint == "/" }
        if (mount.root == "/") != (other.root == "/") { return mount.root == "/" }
        return mount.mountPoint.utf8.count < other.mountPoint.utf8.count
    }

    private static func precedesInList(_ mount: Mount, _ other: Mount) -> Bool {
        if (mount.mountPoint == "/") != (other.mountPoint == "/") { return mount.mountPoint == "/" }
        return mount.mountPoint < other.mountPoint
    }

    /// Whether looking up the mount point's path ends in another mount: one at or above that path that is not among its
    /// parents.
    private func isCovered(_ mount: Mount) -> Bool {
        var ancestors: Set<UInt64> = [mount.id]
        var next = mount.parent
        while let parent = mounts.first(where: { $0.id == next }), ancestors.insert(parent.id).inserted {
            next = parent.parent
        }
        return mounts.contains { other in
            !ancestors.contains(other.id) && Self.isAtOrBelow(mount.mountPoint, other.mountPoint)
        }
    }

    private static func isAtOrBelow(_ path: String, _ directory: String) -> Bool {
        if path == directory { return true }
        return directory == "/"
            || (path.hasPrefix(directory) && path.utf8.dropFirst(directory.utf8.count).first == 0x2f)
    }
}
