import Glibc

/// The socket on which StatsD is received. Use it from one thread.
final class StatsDSocket {
    enum Reading {
        /// - Parameter isWhole: `false`: the packet was longer than the memory.
        case packet(Int, isWhole: Bool)
        case nothing
    }

    /// Bytes that may wait in the kernel, as far as it allows so many.
    private static let bufferBytes: Int32 = 4 << 20
    /// `SO_RXQ_OVFL` of Linux: each packet comes with the number of those that were dropped before it.
    private static let dropCounter: Int32 = 40

    let descriptor: Int32
    /// The port, for UDP.
    private(set) var port: UInt16 = 0
    private var path: String?
    private var drops: UInt32 = 0

    /// - Throws: why it cannot be opened, with the remedy.
    init(_ address: StatsDAddress) throws(MetricAddressError) {
        let family: Int32 =
            switch address.place {
            case .path: AF_UNIX
            case .udp(_, let isIPv6, _): isIPv6 ? AF_INET6 : AF_INET
            }
        let flags = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = socket(family, flags, 0)
        guard descriptor >= 0 else { throw Self.failure(address, "no socket") }
        var one: Int32 = 1
        var bytes = Self.bufferBytes
        setsockopt(descriptor, SOL_SOCKET, Self.dropCounter, &one, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        let result: Int32
        switch address.place {
        case .path(let path): result = bind(path)
        case .udp(let host, false, let port):
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            inet_pton(AF_INET, host, &name.sin_addr)
            result = bind(name)
        case .udp(let host, true, let port):
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = port.bigEndian
            inet_pton(AF_INET6, host, &name.sin6_addr)
            result = bind(name)
        }
        guard result == 0 else { throw Self.failure(address, "cannot listen") }
        if path == nil { port = boundPort }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if let path { unlink(path) }
    }

    private static func failure(_ address: StatsDAddress, _ what: String) -> MetricAddressError {
        let number = errno
        let remedy = number == EADDRINUSE ? ". Another program has it: stop that, or give another address" : ""
        return MetricAddressError("\(what) at \(address): \(String(cString: strerror(number)))\(remedy)")
    }

    private func bind<Address>(_ address: Address) -> Int32 {
        withUnsafeBytes(of: address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                Glibc.bind(descriptor, $0.baseAddress, socklen_t(bytes.count))
            }
        }
    }

    /// Takes the place of a socket whose owner is gone. All programs of the machine may write, as they may to UDP.
    private func bind(_ path: String) -> Int32 {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
        var result = bind(name)
        if result != 0, errno == EADDRINUSE {
            guard isLeftOver(path, name) else {
                errno = EADDRINUSE
                return -1
            }
            unlink(path)
            result = bind(name)
        }
        if result == 0 {
            self.path = path
            chmod(path, 0o666)
        }
        return result
    }

    private func isLeftOver(_ path: String, _ name: sockaddr_un) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        let asking = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard asking >= 0 else { return false }
        defer { close(asking) }
        let result = withUnsafeBytes(of: name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                connect(asking, $0.baseAddress, socklen_t(bytes.count))
            }
        }
        return result != 0 && errno == ECONNREFUSED
    }

    private var boundPort: UInt16 {
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutableBytes(of: &name) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &size) }
        }
        // The port is at the same place for both families.
        return result == 0 ? UInt16(bigEndian: name.sin6_port) : 0
    }

    /// Takes one packet. Does not wait.
    /// - Parameter dropped: receives how many packets the kernel dropped before this one. It is known with the next
    ///   packet only.
    func receive(into memory: UnsafeMutableRawBufferPointer, dropped: inout UInt64) -> Reading {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: MemoryLayout<cmsghdr>.alignment) { control in
            var part = iovec(iov_base: memory.baseAddress, iov_len: memory.count)
            return withUnsafeMutablePointer(to: &part) { part in
                var message = msghdr()
                message.msg_iov = part
                message.msg_iovlen = 1
                message.msg_control = control.baseAddress
                message.msg_controllen = control.count
                let count = recvmsg(descriptor, &message, 0)
                guard count >= 0 else { return .nothing }
                let given = UnsafeRawBufferPointer(rebasing: control[..<min(control.count, message.msg_controllen)])
                if let total = Self.drops(in: given) {
                    // The counter wraps.
                    dropped += UInt64(total &- drops)
                    drops = total
                }
                return .packet(count, isWhole: message.msg_flags & Int32(MSG_TRUNC) == 0)
            }
        }
    }

    /// The counter of drops in control messages, as the kernel lays them out.
    static func drops(in control: UnsafeRawBufferPointer) -> UInt32? {
        let head = MemoryLayout<cmsghdr>.size
        let alignment = MemoryLayout<Int>.size
        var place = 0
        while place + head <= control.count {
            let header = control.loadUnaligned(fromByteOffset: place, as: cmsghdr.self)
            let length = Int(header.cmsg_len)
            guard length >= head, length <= control.count - place else { return nil }
            if header.cmsg_level == SOL_SOCKET, header.cmsg_type == dropCounter, length >= head + 4 {
                return control.loadUnaligned(fromByteOffset: place + head, as: UInt32.self)
            }
            place += (length + alignment - 1) / alignment * alignment
        }
        return nil
    }
}
