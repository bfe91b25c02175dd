import Glibc
import Synchronization
import TelemetryBasics

/// The machine this process runs on.
///
/// Files that are read on every sample keep their descriptors open, at most ``maximumKeptOpen``. They are read with
/// `pread` from the start, which makes the kernel generate them anew. A descriptor that fails is opened again once. One
/// netlink socket per family stays open likewise.
package final class LinuxHostSource: HostSource {
    /// Enough for the fixed files of all modules. Other files are opened for each read.
    static let maximumKeptOpen = 32

    private let kept = Mutex<[String: CInt]>([:])
    private let route = Mutex(NetlinkSocket(family: .route))
    private let generic = Mutex(NetlinkSocket(family: .generic))

    package init() {}

    deinit {
        kept.withLock { descriptors in
            for descriptor in descriptors.values { close(descriptor) }
            descriptors = [:]
        }
        route.withLock { $0.close() }
        generic.withLock { $0.close() }
    }

    package func read(_ path: String, into buffer: inout FileBuffer, maximumBytes: Int, keepOpen: Bool) -> FileOutcome {
        guard keepOpen else { return readOnce(path, into: &buffer, maximumBytes: maximumBytes) }
        // The lock is held while reading, so no other thread closes the descriptor meanwhile. /proc does not block.
        return kept.withLock { descriptors in
            if let descriptor = descriptors[path] {
                let outcome = Self.fill(&buffer, from: descriptor, maximumBytes: maximumBytes)
                if outcome == .complete || outcome == .truncated { return outcome }
                close(descriptor)
                descriptors[path] = nil
            }
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return Self.outcome(errno) }
            let outcome = Self.fill(&buffer, from: descriptor, maximumBytes: maximumBytes)
            if outcome == .complete || outcome == .truncated, descriptors.count < Self.maximumKeptOpen {
                descriptors[path] = descriptor
            } else {
                close(descriptor)
            }
            return outcome
        }
    }

    private func readOnce(_ path: String, into buffer: inout FileBuffer, maximumBytes: Int) -> FileOutcome {
        // O_NONBLOCK: opening a pipe by mistake must not block the sampler.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return Self.outcome(errno) }
        defer { close(descriptor) }
        return Self.fill(&buffer, from: descriptor, maximumBytes: maximumBytes)
    }

    private static func fill(_ buffer: inout FileBuffer, from descriptor: CInt, maximumBytes: Int) -> FileOutcome {
        var error: CInt = 0
        let last = buffer.fill(maximumBytes: maximumBytes) { memory, offset in
            let got = retryingOnInterrupt { pread(descriptor, memory.baseAddress, memory.count, off_t(offset)) }
            if got < 0 { error = errno }
            return got
        }
        guard let last else { return .truncated }
        return last == 0 ? .complete : outcome(error)
    }

    static func outcome(_ error: CInt) -> FileOutcome {
        switch error {
        case ENOENT, ENOTDIR, ENODEV, ENXIO, ENODATA, EOPNOTSUPP, ESRCH, EAFNOSUPPORT, EPROTONOSUPPORT: .absent
        case EACCES, EPERM: .denied
        default: .failed(errno: error)
        }
    }

    package func list(_ path: String, maximumEntries: Int) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while names.count < maximumEntries, let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    package func readLink(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { memory in
            let count = readlink(path, memory.baseAddress!.assumingMemoryBound(to: CChar.self), memory.count)
            guard count > 0, count < memory.count else { return nil }
            return String(decoding: UnsafeRawBufferPointer(rebasing: memory[..<count]), as: UTF8.self)
        }
    }

    package func exchange(_ request: NetlinkRequest, into buffer: inout FileBuffer, maximumBytes: Int) -> FileOutcome {
        switch request.family {
        case .route: route.withLock { $0.exchange(request, into: &buffer, maximumBytes: maximumBytes) }
        case .generic: generic.withLock { $0.exchange(request, into: &buffer, maximumBytes: maximumBytes) }
        }
    }

    package func fileSystemFigures(at mountPoint: String) -> FileSystemFigures? {
        var figures = statvfs()
        guard statvfs(mountPoint, &figures) == 0 else { return nil }
        return FileSystemFigures(
            blockSize: UInt64(figures.f_frsize), blocks: UInt64(figures.f_blocks), blocksFree: UInt64(figures.f_bfree),
            blocksAvailable: UInt64(figures.f_bavail), inodes: UInt64(figures.f_files),
            inodesFree: UInt64(figures.f_ffree))
    }

    package func systemName() -> SystemName? {
        var name = utsname()
        guard uname(&name) == 0 else { return nil }
        return SystemName(
            kernelName: Self.text(&name.sysname), hostName: Self.text(&name.nodename),
            kernelRelease: Self.text(&name.release), architecture: Self.text(&name.machine))
    }

    private static func text<Characters>(_ characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
    }

    package func processFigures() -> ProcessFigures {
        var time = timespec()
        let timed = clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0
        var usage = rusage()
        let used = getrusage(RUSAGE_SELF.rawValue, &usage) == 0
        return ProcessFigures(
            cpuTimeMicroseconds: timed ? Self.microseconds(time) : nil,
            userMicroseconds: used ? Self.microseconds(usage.ru_utime) : nil,
            systemMicroseconds: used ? Self.microseconds(usage.ru_stime) : nil, openFiles: Self.openFiles(),
            pageSize: UInt64(max(sysconf(CInt(_SC_PAGESIZE)), 0)),
            ticksPerSecond: UInt64(max(sysconf(CInt(_SC_CLK_TCK)), 0)))
    }

    /// Since Linux 6.2 the directory's size is the number. On older kernels the entries are counted.
    private static func openFiles() -> UInt32? {
        var status = stat()
        if stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return UInt32(clamping: status.st_size) }
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            if entry.pointee.d_name.0 != 0x2e { count += 1 }
        }
        // Without the directory's own descriptor.
        return UInt32(clamping: max(count - 1, 0))
    }

    package func now() -> SampleTime {
        SampleTime(
            wallMicroseconds: SystemClock.wallMicroseconds(),
            sinceBootMicroseconds: UInt64(SystemClock.bootMicroseconds()))
    }

    private static func microseconds(_ time: timespec) -> UInt64 {
        UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1_000
    }

    private static func microseconds(_ time: timeval) -> UInt64 {
        UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_usec)
    }
}

extension LinuxHostSource {
    package func fileStatus(_ path: String) -> FileStatus? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return FileStatus(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), mode: UInt32(status.st_mode),
            owner: UInt32(status.st_uid),
            group: UInt32(status.st_gid), size: Int64(status.st_size), modified: Self.nanoseconds(status.st_mtim),
            changed: Self.nanoseconds(status.st_ctim))
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
