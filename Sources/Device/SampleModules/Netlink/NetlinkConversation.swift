/// What a datagram means for the exchange it came in: the rules of netlink(7), without the socket.
struct NetlinkConversation {
    enum Step: Equatable {
        /// Part of the answer; more follows.
        case more
        /// Of an earlier exchange, or not for us: leave it out.
        case stray
        /// The answer ends with it.
        case complete
        /// The kernel refuses.
        case refused(errno: Int32)
        /// Not what the kernel writes, or it lost some.
        case broken
    }

    private static let error: UInt16 = 2
    private static let done: UInt16 = 3
    private static let overrun: UInt16 = 4
    private static let dumpInterrupted: UInt16 = 0x10

    private let sequence: UInt32
    private let port: UInt32
    /// What was listed changed meanwhile: entries may be missing or there twice. The exchange is to be done again.
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
                // The code is there since Linux 4.15 or so; a bare end means all is well.
                return Self.end(header.body.number(at: 0) ?? 0)
            case Self.overrun:
                return .broken
            default:
                break
            }
        }
        return headers.isAtEnd ? .more : .broken
    }

    /// The kernel gives errors as negative numbers, 0 as agreement.
    private static func end(_ code: Int32) -> Step {
        if code == 0 { return .complete }
        return code < 0 && code > -4_096 ? .refused(errno: -code) : .broken
    }
}
