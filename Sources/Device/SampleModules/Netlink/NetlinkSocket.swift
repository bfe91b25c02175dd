import Glibc
import TelemetryBasics

/// A socket to one netlink family, opened at the first exchange and kept. The protocol's rules are in
/// ``NetlinkConversation``.
///
/// It is closed after anything but a clean end, so late messages cannot mix with the next answer. Use it from one
/// thread at a time.
struct NetlinkSocket {
    /// The longest wait, in milliseconds. Answers usually come with the same system call; later the kernel counts as
    /// stuck.
    static let maximumWait: Int64 = 500
    /// How often an exchange is tried: lists may be interrupted, datagrams lost or longer than expected.
    static let maximumAttempts = 4
    /// The usual size of a datagram in a list. A large entry may exceed it.
    private static let usualDatagram = 16 * 1024
    // From <linux/socket.h>, <linux/net.h> and <linux/netlink.h>. Swift sees these names differently with different C
    // libraries.
    private static let raw: CInt = 3
    private static let reportLength: CInt = 0x20
    private static let addressFamily: CInt = 16
    private static let netlinkLevel: CInt = 270
    private static let strictChecking: CInt = 12

    private enum Attempt {
        case complete
        case truncated
        case refused(errno: CInt)
        case again(errno: CInt)
        case broken(errno: CInt)
    }

    private let family: NetlinkRequest.Family
    private var descriptor: CInt = -1
    private var port: UInt32 = 0
    private var sequence: UInt32 = 0
    private var room = usualDatagram

    init(family: NetlinkRequest.Family) {
        self.family = family
    }

    mutating func close() {
        if descriptor >= 0 { _ = closeDescriptor(descriptor) }
        descriptor = -1
    }

    mutating func exchange(_ request: NetlinkRequest, into buffer: inout FileBuffer, maximumBytes: Int) -> FileOutcome {
        var last: CInt = EINTR
        for _ in 0..<Self.maximumAttempts {
            buffer.truncate()
            switch attempt(request, into: &buffer, maximumBytes: maximumBytes) {
            case .complete:
                return .complete
            case .truncated:
                close()
                return .truncated
            case .refused(let errno):
                buffer.truncate()
                return LinuxHostSource.outcome(errno)
            case .again(let errno):
                last = errno
            case .broken(let errno):
                buffer.truncate()
                close()
                return LinuxHostSource.outcome(errno)
            }
        }
        buffer.truncate()
        close()
        return .failed(errno: last)
    }

    private mutating func attempt(_ request: NetlinkRequest, into buffer: inout FileBuffer, maximumBytes: Int)
        -> Attempt
    {
        if descriptor < 0, let error = open() { return .broken(errno: error) }
        sequence &+= 1
        let message = request.message(sequence: sequence, port: port)
        guard send(descriptor, message, message.count, 0) == message.count else { return .broken(errno: errno) }

        var conversation = NetlinkConversation(sequence: sequence, port: port)
        let deadline = SystemClock.monotonicNanoseconds() / 1_000_000 + Self.maximumWait
        while true {
            let start = buffer.count
            guard start + room <= max(maximumBytes, room) else { return .truncated }
            var sender = sockaddr_storage()
            let got = retryingOnInterrupt { receive(into: &buffer, sender: &sender) }
            if got < 0 {
                let error = errno
                if error == EAGAIN {
                    guard wait(until: deadline) else { return .broken(errno: ETIMEDOUT) }
                    continue
                }
                close()
                // The kernel had more to send than the socket can hold.
                return error == ENOBUFS ? .again(errno: error) : .broken(errno: error)
            }
            if got > room {
                close()
                guard got <= maximumBytes else { return .broken(errno: EMSGSIZE) }
                room = got
                return .again(errno: EMSGSIZE)
            }
            // Another program may write to our port. Only the kernel has port 0.
            guard Self.port(of: sender) == 0 else {
                buffer.truncate(to: start)
                continue
            }
            switch buffer.withBytes({ conversation.received(UnsafeRawBufferPointer(rebasing: $0[start...])) }) {
            case .more: break
            case .stray: buffer.truncate(to: start)
            case .complete: return conversation.isInterrupted ? .again(errno: EINTR) : .complete
            case .refused(let error): return .refused(errno: error)
            case .broken: return .broken(errno: EBADMSG)
            }
        }
    }

    private func receive(into buffer: inout FileBuffer, sender: inout sockaddr_storage) -> Int {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &sender) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                buffer.append(room: room) { memory in
                    // MSG_TRUNC: the result is the datagram's length, even if it did not fit.
                    recvfrom(descriptor, memory.baseAddress, memory.count, Self.reportLength, address, &length)
                }
            }
        }
    }

    /// - Returns: the error; `nil` on success.
    private mutating func open() -> CInt? {
        // SOCK_CLOEXEC and SOCK_NONBLOCK are the flags of open(2).
        let opened = socket(Self.addressFamily, Self.raw | O_CLOEXEC | O_NONBLOCK, family.rawValue)
        guard opened >= 0 else { return errno }
        // Asks the kernel to filter (routes of one table). Kernels before 4.20 list all; the limit bounds the list, and
        // we filter.
        var on: CInt = 1
        _ = setsockopt(opened, Self.netlinkLevel, Self.strictChecking, &on, socklen_t(MemoryLayout<CInt>.size))

        var address = sockaddr_storage()
        address.ss_family = sa_family_t(Self.addressFamily)
        // struct sockaddr_nl is 12 bytes; port 0 asks the kernel to choose one.
        var length: socklen_t = 12
        let error: CInt? = withUnsafeMutablePointer(to: &address) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(opened, address, length) == 0, getsockname(opened, address, &length) == 0 else {
                    return errno
                }
                return nil
            }
        }
        guard error == nil else {
            _ = closeDescriptor(opened)
            return error
        }
        descriptor = opened
        port = Self.port(of: address)
        return nil
    }

    /// `nl_pid` of `struct sockaddr_nl`.
    private static func port(of address: sockaddr_storage) -> UInt32 {
        withUnsafeBytes(of: address) { $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) }
    }

    private func wait(until deadline: Int64) -> Bool {
        let left = deadline - SystemClock.monotonicNanoseconds() / 1_000_000
        guard left > 0 else { return false }
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Interrupted or not: the next read shows what is there.
        return poll(&poller, 1, CInt(left)) != 0
    }
}

/// The method named `close` hides the system call.
private func closeDescriptor(_ descriptor: CInt) -> CInt { close(descriptor) }

/// Decides what a datagram means for its exchange: the rules of netlink(7), without the socket.
struct NetlinkConversation {
    enum Step: Equatable {
        /// Part of the answer; more follows.
        case more
        /// A message of an earlier exchange, or for somebody else. Ignore it.
        case stray
        /// This message ends the answer.
        case complete
        /// The kernel refuses.
        case refused(errno: Int32)
        /// The datagram is malformed, or the kernel lost some.
        case broken
    }

    private static let error: UInt16 = 2
    private static let done: UInt16 = 3
    private static let overrun: UInt16 = 4
    private static let dumpInterrupted: UInt16 = 0x10

    private let sequence: UInt32
    private let port: UInt32
    /// The list changed during the exchange. Entries may be missing or duplicate, so the exchange must be repeated.
    private(set) var isInterrupted = false

    init(sequence: UInt32, port: UInt32) {
        self.sequence = sequence
        self.port = port
    }

    mutating func received(_ datagram: UnsafeRawBufferPointer) -> Step {
        var headers = NetlinkHeaders(datagram)
        while let header = headers.next() {
            guard header.sequence == sequence, header.port == port else { return .stray }
            if header.flags & Self.dumpInterrupted != 0 { isInterrupted = true }
            switch header.type {
            case Self.error:
                guard let code: Int32 = header.body.number(at: 0) else { return .broken }
                return Self.end(code)
            case Self.done:
                // Kernels since about 4.15 send a code. An end without one means success.
                return Self.end(header.body.number(at: 0) ?? 0)
            case Self.overrun:
                return .broken
            default:
                break
            }
        }
        return headers.isAtEnd ? .more : .broken
    }

    /// The kernel reports errors as negative numbers and success as 0.
    private static func end(_ code: Int32) -> Step {
        if code == 0 { return .complete }
        return code < 0 && code > -4_096 ? .refused(errno: -code) : .broken
    }
}
