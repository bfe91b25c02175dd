import Glibc
import TelemetryBasics

/// A socket at which others reach the agent. It never waits. Safe from any thread; whoever opened it closes it, once,
/// when nobody uses it any more.
package struct ListeningSocket: Sendable {
    package enum Kind: Sendable {
        case datagrams
        case connections
    }

    /// Who may use a socket with a path.
    package enum Access: Equatable, Sendable {
        /// Every user of the machine, as for /dev/log. Whoever shall not is kept out by the mode of the directory.
        case everyone
        /// The agent's own user.
        case owner
        /// The agent's own user and the members of a group.
        case group(String)
    }

    /// The file of a path, as it was when the socket was opened.
    private struct File: Equatable {
        var device: dev_t
        var inode: ino_t

        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            (device, inode) = (status.st_dev, status.st_ino)
        }
    }

    /// Connections that wait in the kernel to be accepted, as far as `net.core.somaxconn` allows. Where more come, the
    /// kernel lets their senders believe that they are connected, and their lines come late or not at all.
    package static let backlog = 1_024
    /// `SO_MEMINFO` of Linux, its count of numbers, and the place of the drops among them.
    private static let memoryInformation: Int32 = 55
    private static let memoryNumbers = 9
    private static let dropsPlace = 8
    /// `MSG_TRUNC` of Linux.
    private static let truncationFlag: Int32 = 0x20

    package let descriptor: Int32
    private let address: SocketAddress
    private let file: File?

    /// Opens it. A path takes the place of a socket that a dead process left.
    /// - Parameters:
    ///   - bufferBytes: bytes that may wait in the kernel, which gives less where `net.core.rmem_max` says so.
    ///   - access: of a path.
    /// - Throws: why not, with the remedy.
    package init(
        _ address: SocketAddress, _ kind: Kind, bufferBytes: Int32, access: Access = .everyone
    ) throws(ListenFailure) {
        guard let system = address.system else { throw ListenFailure("\(address) is no address") }
        let type = kind == .datagrams ? SOCK_DGRAM : SOCK_STREAM
        let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(system.family, Int32(type.rawValue) | flags, 0)
        guard descriptor >= 0 else { throw ListenFailure(errno) }
        do throws(ListenFailure) {
            func set(_ level: Int32, _ option: Int32, _ value: Int32) {
                var value = value
                setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
            }
            // A port that was just left may be taken again.
            if kind == .connections { set(SOL_SOCKET, SO_REUSEADDR, 1) }
            if system.family == AF_INET6 { set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
            set(SOL_SOCKET, SO_RCVBUF, bufferBytes)
            // Linux gives the file the mode of the socket. So nobody else gets in before the group is set.
            if case .path = address { fchmod(descriptor, access == .everyone ? 0o666 : 0o600) }
            try Self.bind(descriptor, address, system.bytes)
            guard kind == .datagrams || listen(descriptor, Int32(Self.backlog)) == 0 else {
                throw ListenFailure(errno, address)
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.address = address
        if case .path(let path) = address {
            do throws(ListenFailure) { try Self.open(path, to: access) } catch {
                unlink(path)
                Glibc.close(descriptor)
                throw error
            }
            file = File(path)
        } else {
            file = nil
        }
    }

    private static func open(_ path: String, to access: Access) throws(ListenFailure) {
        switch access {
        // The umask does not hold for it.
        case .everyone: chmod(path, 0o666)
        case .owner: chmod(path, 0o600)
        case .group(let name):
            guard let id = groupID(name) else { throw ListenFailure("this machine has no group \(name)") }
            guard chown(path, .max, id) == 0, chmod(path, 0o660) == 0 else {
                throw ListenFailure(
                    "group \(name) gets no access to it: \(FileError.words(errno)); add the agent's user to the group, "
                        + "in a systemd unit with SupplementaryGroups=\(name)")
            }
        }
    }

    private static func groupID(_ name: String) -> gid_t? {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { buffer in
            let result = getgrnam_r(name, &entry, buffer.baseAddress, buffer.count, &found)
            return result == 0 && found != nil ? entry.gr_gid : nil
        }
    }

    package func close() {
        // Not the socket that somebody else has put there meanwhile.
        if case .path(let path) = address, isInPlace { unlink(path) }
        Glibc.close(descriptor)
    }

    /// Whether programs find it: its path still leads to it.
    package var isInPlace: Bool {
        guard case .path(let path) = address else { return true }
        return file != nil && File(path) == file
    }

    /// The port, which the system chose if it was 0; `nil` for a path.
    package var port: UInt16? {
        var name = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port is at the same place in both families.
        guard result == 0, [sa_family_t(AF_INET), sa_family_t(AF_INET6)].contains(name.sin6_family) else { return nil }
        return UInt16(bigEndian: name.sin6_port)
    }

    /// Takes one datagram.
    /// - Returns: its bytes, also those that found no room; `nil` if none is there.
    package func receive(into memory: UnsafeMutableRawBufferPointer) -> Int? {
        let count = retryingOnInterrupt { recv(descriptor, memory.baseAddress, memory.count, Self.truncationFlag) }
        return count < 0 ? nil : count
    }

    /// How many datagrams the kernel dropped since the socket was opened, because it had no room; 0 where the kernel
    /// does not say. The number begins anew behind 2³² - 1.
    ///
    /// The kernel is asked for its present number. `SO_RXQ_OVFL` gives it with the next datagram only, so the drops at
    /// the end of a flood would stay uncounted for as long as nobody sends. It drops only while others wait to be
    /// received: who asks after the last one of them misses none.
    package var drops: UInt32 {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Self.memoryNumbers) { numbers in
            let bytes = Self.memoryNumbers * MemoryLayout<UInt32>.size
            var length = socklen_t(bytes)
            let result = getsockopt(descriptor, SOL_SOCKET, Self.memoryInformation, numbers.baseAddress, &length)
            return result == 0 && length == bytes ? numbers[Self.dropsPlace] : 0
        }
    }

    // MARK: - Binding

    private static func bind(
        _ descriptor: Int32, _ address: SocketAddress, _ bytes: [UInt8]
    ) throws(ListenFailure) {
        if SocketAddress.call(bytes, { Glibc.bind(descriptor, $0, $1) }) == 0 { return }
        guard errno == EADDRINUSE, case .path(let path) = address else { throw ListenFailure(errno, address) }
        try removeStale(path, bytes)
        guard SocketAddress.call(bytes, { Glibc.bind(descriptor, $0, $1) }) == 0 else {
            throw ListenFailure(errno, address)
        }
    }

    /// Removes a socket that a dead process left, and nothing else.
    private static func removeStale(_ path: String, _ bytes: [UInt8]) throws(ListenFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ListenFailure("a file is there that is no socket; remove it")
        }
        let asking = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard asking >= 0 else { throw ListenFailure(errno) }
        defer { Glibc.close(asking) }
        let isAlive = SocketAddress.call(bytes) { connect(asking, $0, $1) } == 0
        guard isAlive || errno != EACCES else {
            throw ListenFailure("the socket of another user is there, perhaps of a dead process; remove it")
        }
        // A socket of connections answers with EPROTOTYPE, and is somebody's too.
        guard !isAlive, errno == ECONNREFUSED else { throw ListenFailure(EADDRINUSE) }
        unlink(path)
    }
}

/// Why nobody can be reached at an address, in words that name the remedy.
package struct ListenFailure: Error, Equatable, CustomStringConvertible {
    package let description: String
    /// The machine does not have the address, or not its family.
    package private(set) var isMissingAddress = false

    package init(_ description: String) { self.description = description }

    package init(_ error: Int32, _ address: SocketAddress? = nil) {
        isMissingAddress = [EADDRNOTAVAIL, EAFNOSUPPORT].contains(error)
        let remedy =
            switch (error, address) {
            case (EACCES, .internet): "; ports below 1024 need CAP_NET_BIND_SERVICE"
            case (EACCES, .path), (ENOENT, .path), (ENOTDIR, .path), (EROFS, .path):
                "; the directory must be there and belong to the agent (RuntimeDirectory=)"
            case (EADDRINUSE, _): "; another program has it: stop that, or give another address"
            case (EADDRNOTAVAIL, _): "; no network interface of this machine has the address"
            default: ""
            }
        description = FileError.words(error) + remedy
    }
}
