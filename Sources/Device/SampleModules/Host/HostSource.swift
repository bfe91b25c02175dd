import WireModel

/// The port between modules and the operating system.
///
/// Modules read the machine only through it, so tests can run on captured machines. Implementations are safe to use
/// from several threads. A call may block as long as the file behind it does; therefore nothing on a network is ever
/// asked.
package protocol HostSource: Sendable {
    /// Reads a file into `buffer`, at most `maximumBytes` of it.
    ///
    /// - Parameter keepOpen: the file is read on every sample, so its descriptor may stay open. Use it only for fixed
    ///   names in `/proc`, whose content the kernel generates anew for each read from the start.
    func read(_ path: String, into buffer: inout FileBuffer, maximumBytes: Int, keepOpen: Bool) -> FileOutcome

    /// The names in a directory, unordered, without `.` and `..`. At most `maximumEntries`; further names are left out.
    func list(_ path: String, maximumEntries: Int) -> [String]?

    /// The target of a symbolic link; `nil` if it is no link or cannot be read.
    func readLink(_ path: String) -> String?

    /// Owner, mode and identity of a file, following links. `nil` if it does not exist or cannot be read.
    func fileStatus(_ path: String) -> FileStatus?

    /// Asks the kernel over netlink and puts the messages of its answer into `buffer`, headers included
    /// (``NetlinkMessages`` parses them).
    ///
    /// Waits for the kernel for a bounded time. The buffer is empty unless the outcome is `complete` or `truncated`; if
    /// truncated, it holds the messages up to the limit.
    func exchange(_ request: NetlinkRequest, into buffer: inout FileBuffer, maximumBytes: Int) -> FileOutcome

    /// The figures of a mounted file system. Never call it for a network file system: it may not return.
    func fileSystemFigures(at mountPoint: String) -> FileSystemFigures?

    /// Host name, kernel and architecture; `nil` if the system does not report them.
    func systemName() -> SystemName?

    /// The resources this process has used.
    func processFigures() -> ProcessFigures

    /// The present time of both clocks.
    func now() -> SampleTime
}

/// The outcome of reading a file or asking the kernel.
package enum FileOutcome: Sendable, Equatable {
    case complete
    /// The limit was reached. The buffer holds the beginning.
    case truncated
    /// The file, device, protocol or kernel feature does not exist.
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
    /// Free for an ordinary user.
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

/// The resources this process has used, and the units of its files in `/proc/self`.
package struct ProcessFigures: Sendable, Equatable {
    package var cpuTimeMicroseconds: UInt64?
    /// Time in the program's own code, and time in the kernel for it. The kernel estimates how the time is divided.
    package var userMicroseconds: UInt64?
    package var systemMicroseconds: UInt64?
    package var openFiles: UInt32?
    /// Bytes per page.
    package var pageSize: UInt64
    /// Clock ticks per second in `/proc/self/stat`.
    package var ticksPerSecond: UInt64

    package init(
        cpuTimeMicroseconds: UInt64?, userMicroseconds: UInt64? = nil, systemMicroseconds: UInt64? = nil,
        openFiles: UInt32?, pageSize: UInt64, ticksPerSecond: UInt64
    ) {
        self.cpuTimeMicroseconds = cpuTimeMicroseconds
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.openFiles = openFiles
        self.pageSize = pageSize
        self.ticksPerSecond = ticksPerSecond
    }
}

extension HostSource {
    /// Identifies the present boot; `nil` if the kernel does not report it.
    package func bootID() -> BootID? {
        var buffer = FileBuffer(capacity: 64)
        guard read(BootIDFile.path, into: &buffer, maximumBytes: 64, keepOpen: false) == .complete else { return nil }
        return buffer.withBytes { BootIDFile.parse($0) }
    }
}

/// The result of `stat`.
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
    /// When content or attributes were last changed, nanoseconds since 1970. No program can set it back.
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
