/// What `stat` tells of a file.
package struct FileStatus: Sendable, Equatable {
    package var device: UInt64
    package var inode: UInt64
    /// Type and permission bits.
    package var mode: UInt32
    package var owner: UInt32
    package var group: UInt32
    package var size: Int64
    /// When its content was last changed, nanoseconds since 1970.
    package var modified: Int64
    /// When content or attributes were last changed, nanoseconds since 1970; no program can set it back.
    package var changed: Int64

    package init(
        device: UInt64 = 0, inode: UInt64 = 0, mode: UInt32, owner: UInt32 = 0, group: UInt32 = 0, size: Int64 = 0, modified: Int64 = 0,
        changed: Int64 = 0
    ) {
        self.device = device
        self.inode = inode
        self.mode = mode
        self.owner = owner
        self.group = group
        self.size = size
        self.modified = modified
        self.changed = changed
    }
}
