import WireModel

/// What a machine tells modules about itself: the port between them and the operating system.
///
/// Modules read through it only, so that tests run on captured machines. Implementations are safe to use from several
/// threads; a call may block for as long as the file behind it does, and for that reason nothing on a network is asked.
package protocol HostSource: Sendable {
    /// Reads a whole file, at most `maximumBytes` of it, into `buffer`.
    ///
    /// - Parameter keepOpen: the file is read on every sample; where sound its descriptor stays open. Only for fixed
    ///   names in `/proc`, whose content is made anew by each read from the start.
    func read(_ path: String, into buffer: inout FileBuffer, maximumBytes: Int, keepOpen: Bool) -> FileOutcome

    /// The names in a directory without `.` and `..`, in no order; at most `maximumEntries`, what is beyond is left
    /// out.
    func list(_ path: String, maximumEntries: Int) -> [String]?

    /// Where a symbolic link points; `nil` if it is none or cannot be read.
    func readLink(_ path: String) -> String?

    /// Owner, mode and identity of a file, links followed; `nil` if there is none or the system will not say.
    func fileStatus(_ path: String) -> FileStatus?

    /// Asks the kernel over netlink and puts the messages of its answer into `buffer`, one behind the other, headers
    /// included (``NetlinkMessages`` takes them apart).
    ///
    /// Waits for the kernel for a bounded time. The buffer is empty unless the outcome is `complete`, or `truncated`:
    /// then it holds the messages up to the bound.
    func exchange(_ request: NetlinkRequest, into buffer: inout FileBuffer, maximumBytes: Int) -> FileOutcome

    /// The figures of a mounted file system. Never call it for one on a network: it may not return.
    func fileSystemFigures(at mountPoint: String) -> FileSystemFigures?

    /// Host name, kernel and architecture; `nil` if the system will not say.
    func systemName() -> SystemName?

    /// What this process has cost.
    func processFigures() -> ProcessFigures

    /// Both clocks, now.
    func now() -> SampleTime
}

/// How reading a file, or an exchange with the kernel, went.
package enum FileOutcome: Sendable, Equatable {
    case complete
    /// The bound was met: the buffer holds the beginning.
    case truncated
    /// No such file, device, protocol or kernel feature.
    case absent
    case denied
    case failed(errno: Int32)
}

/// `statvfs` of one mount point.
package struct FileSystemFigures: Sendable, Equatable {
    /// Bytes per block of the three figures below.
    package var blockSize: UInt64
    package var blocks: UInt64
    package var blocksFree: UInt64
    /// Free to an ordinary user.
    package var blocksAvailable: UInt64
    package var inodes: UInt64
    package var inodesFree: UInt64

    package init(
        blockSize: UInt64, blocks: UInt64, blocksFree: UInt64, blocksAvailable: UInt64, inodes: UInt64,
        inodesFree: UInt64
    ) {
        self.blockSize = blockSize
        self.blocks = blocks
        self.blocksFree = blocksFree
        self.blocksAvailable = blocksAvailable
        self.inodes = inodes
        self.inodesFree = inodesFree
    }
}

/// `uname`.
package struct SystemName: Sendable, Equatable {
    package var kernelName: String
    package var hostName: String
    package var kernelRelease: String
    package var architecture: String

    package init(kernelName: String, hostName: String, kernelRelease: String, architecture: String) {
        self.kernelName = kernelName
        self.hostName = hostName
        self.kernelRelease = kernelRelease
        self.architecture = architecture
    }
}

/// What the process has used so far, and the units its files in `/proc/self` count in.
package struct ProcessFigures: Sendable, Equatable {
    package var cpuTimeMicroseconds: UInt64?
    package var openFiles: UInt32?
    /// Bytes per page.
    package var pageSize: UInt64
    /// Clock ticks per second in `/proc/self/stat`.
    package var ticksPerSecond: UInt64

    package init(cpuTimeMicroseconds: UInt64?, openFiles: UInt32?, pageSize: UInt64, ticksPerSecond: UInt64) {
        self.cpuTimeMicroseconds = cpuTimeMicroseconds
        self.openFiles = openFiles
        self.pageSize = pageSize
        self.ticksPerSecond = ticksPerSecond
    }
}

extension HostSource {
    /// Which boot this is; `nil` where the kernel does not say.
    package func bootID() -> BootID? {
        var buffer = FileBuffer(capacity: 64)
        guard read(BootIDFile.path, into: &buffer, maximumBytes: 64, keepOpen: false) == .complete else { return nil }
        return buffer.withBytes { BootIDFile.parse($0) }
    }
}

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
        device: UInt64 = 0, inode: UInt64 = 0, mode: UInt32, owner: UInt32 = 0, group: UInt32 = 0, size: Int64 = 0,
        modified: Int64 = 0,
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
