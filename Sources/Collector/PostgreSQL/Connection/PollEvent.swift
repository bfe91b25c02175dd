import Glibc

/// Wakes a thread that waits in poll(2) for a socket. Once set, it stays set.
///
/// May be used from any thread. The descriptor lives as long as this object.
final class PollEvent: Sendable {
    /// Readable once the event is set.
    let descriptor: Int32
    private let writer: Int32

    init() throws(PostgresError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw PostgresError(.unavailable, "No descriptor is left for a connection to PostgreSQL (errno \(errno)).")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Setting the event again and again must not block, even with a full pipe.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        descriptor = ends[0]
        writer = ends[1]
    }

    deinit {
        close(descriptor)
        close(writer)
    }

    func set() {
        var byte: UInt8 = 1
        _ = write(writer, &byte, 1)
    }

    var isSet: Bool { wait(.zero) }

    /// Waits for the event alone.
    /// - Returns: whether it is set.
    func wait(_ duration: Duration) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let deadline = ContinuousClock.now + duration
        while true {
            let count = poll(&entry, 1, Deadline.milliseconds(until: deadline))
            if count > 0 { return true }
            if count == 0, ContinuousClock.now >= deadline { return false }
        }
    }
}

/// Times as poll(2) accepts them.
enum Deadline {
    /// Rounded up, so that a wait does not end just before its deadline; 0 if it has passed.
    static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        let (seconds, attoseconds) = left.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: milliseconds)
    }
}
