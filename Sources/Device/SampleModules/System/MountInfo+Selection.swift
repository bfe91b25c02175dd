extension MountInfo {
    /// More file systems than this are left out, the root first in.
    static let maximumSelected = 64

    /// Local disk file systems that name no device under /dev.
    private static let localTypes: Set<String> = ["zfs", "btrfs", "bcachefs", "ubifs", "jffs2", "yaffs2"]

    /// Read-only images, always full by nature, and what a server or daemon answers for.
    private static let skippedTypes: Set<String> = [
        "squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs", "fuse", "autofs", "devtmpfs", "tmpfs", "ramfs",
    ]

    private static let networkTypes: Set<String> = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p", "virtiofs", "ceph", "glusterfs", "lustre", "gfs2",
        "ocfs2", "beegfs", "davfs", "orangefs", "pvfs2", "gpfs", "fuse", "autofs",
    ]

    /// The mounts whose figures are worth sending: local disks, each once.
    ///
    /// A mount is taken if its source is a device or its type a local one; at `/` anything that is not on a network, as
    /// live systems and containers have their root in memory or on an overlay. Left out are images, anything on a network or behind FUSE
    /// (asking may hang), mounts that another one covers (asking would answer for, or hang on, the other), and further mounts of the
    /// same file system, of which the whole beats a part, and the shortest path the longer ones.
    func selected() -> [Mount] {
        var best: [String: Mount] = [:]
        for mount in mounts where Self.isWorthAsking(mount) && !isCovered(mount) {
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

    /// Whether a path lookup of its mount point ends in another mount: one at or above that path that is not among the
    /// mounts it hangs from.
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
        return directory == "/" || (path.hasPrefix(directory) && path.utf8.dropFirst(directory.utf8.count).first == 0x2f)
    }
}
