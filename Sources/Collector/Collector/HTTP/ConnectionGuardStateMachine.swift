import NIOCore

/// The state of one HTTP/1.1 connection. Pure: events and the time go in, actions come out.
///
/// After an early answer Hummingbird reads the rest of an unread body without a limit. So an answer before its request
/// has fully arrived is the last one. It says `Connection: close`, and for a short, bounded time the connection
/// discards the rest. Closing at once would reset the connection and could destroy the answer on its way.
struct ConnectionGuardStateMachine {
    enum Phase: Equatable {
        /// Requests and answers pass.
        case open
        /// The last answer was written. Input is counted and discarded. Ends in `closed`.
        case lingering(bytesLeft: Int)
        case closed
    }

    enum InboundAction: Equatable {
        case forward
        case discard
        case close
    }

    enum HeadAction: Equatable {
        case write
        /// Write it with `Connection: close`.
        case writeAsLast
        case discard
    }

    enum EndAction: Equatable {
        case write
        /// Write it, close the sending side and linger.
        case writeAndLinger
        case discard
    }

    enum DeadlineAction: Equatable {
        case none
        /// Check again at that time.
        case waitUntil(NIODeadline)
        /// Answer 408 and linger.
        case refuseSlowBody
        case close
    }

    private let limits: ConnectionLimits
    private(set) var phase: Phase = .open
    private var headsSeen = 0
    private var endsSeen = 0
    private var answersBegun = 0
    private var answersEnded = 0
    private var answerIsLast = false
    /// When the awaited body began, and how many bytes have arrived.
    private var bodyBegan: NIODeadline
    private var bodyBytes: Int64 = 0
    private(set) var deadline: NIODeadline

    init(limits: ConnectionLimits, now: NIODeadline) {
        self.limits = limits
        deadline = now + .seconds(limits.firstHeadSeconds)
        bodyBegan = now
    }

    /// Each byte moves it, up to `bodySeconds`: it is the time at which the body would be slower than the least pace.
    private var bodyDeadline: NIODeadline {
        let seconds = min(limits.bodySeconds, limits.bodyGraceSeconds + bodyBytes / limits.bodyLeastBytesPerSecond)
        return bodyBegan + .seconds(seconds)
    }

    mutating func requestHeadArrived(now: NIODeadline) -> InboundAction {
        switch phase {
        case .open:
            headsSeen += 1
            // A pipelined request does not move the deadline of the one before it.
            bodyBytes = 0
            if headsSeen - 1 == answersEnded {
                bodyBegan = now
                deadline = bodyDeadline
            }
            return .forward
        case .lingering: return .discard
        case .closed: return .close
        }
    }

    mutating func requestBodyArrived(bytes: Int) -> InboundAction {
        switch phase {
        case .open:
            bodyBytes += Int64(bytes)
            if headsSeen - 1 == answersEnded, answersBegun == answersEnded { deadline = bodyDeadline }
            return .forward
        case .lingering(let left):
            guard bytes <= left else {
                phase = .closed
                return .close
            }
            phase = .lingering(bytesLeft: left - bytes)
            return .discard
        case .closed: return .close
        }
    }

    mutating func requestEndArrived(now: NIODeadline) -> InboundAction {
        switch phase {
        case .open:
            endsSeen += 1
            if endsSeen - 1 == answersEnded { deadline = now + .seconds(limits.answerSeconds) }
            return .forward
        case .lingering:
            // Everything was read, so nothing can reset the connection.
            phase = .closed
            return .close
        case .closed: return .close
        }
    }

    /// The sender closed its side. Nothing more can come.
    mutating func inputClosed() -> InboundAction {
        guard case .lingering = phase else { return .forward }
        phase = .closed
        return .close
    }

    mutating func answerHeadWritten() -> HeadAction {
        guard phase == .open, !answerIsLast else { return .discard }
        answersBegun += 1
        answerIsLast = endsSeen < answersBegun
        return answerIsLast ? .writeAsLast : .write
    }

    /// Whether parts of the present answer may still be written.
    var writesAnswer: Bool { phase == .open && answersBegun > answersEnded }

    /// A part of an answer is written. A long answer may last as long as its reader continues to read: each part has
    /// the time of a short answer.
    /// - Returns: whether it may be written.
    mutating func answerBodyWritten(now: NIODeadline) -> Bool {
        guard writesAnswer else { return false }
        if !answerIsLast { deadline = now + .seconds(limits.answerSeconds) }
        return true
    }

    mutating func answerEndWritten(now: NIODeadline) -> EndAction {
        guard writesAnswer else { return .discard }
        answersEnded += 1
        if answerIsLast {
            linger(now: now)
            return .writeAndLinger
        }
        if headsSeen == answersEnded {
            deadline = now + .seconds(limits.idleSeconds)
        } else if endsSeen == answersEnded {
            bodyBegan = now
            deadline = bodyDeadline
        } else {
            deadline = now + .seconds(limits.answerSeconds)
        }
        return .write
    }

    mutating func deadlineReached(now: NIODeadline) -> DeadlineAction {
        if phase == .closed { return .none }
        guard now >= deadline else { return .waitUntil(deadline) }
        let bodyIsSlow =
            phase == .open && headsSeen > endsSeen && answersBegun == answersEnded && endsSeen == answersEnded
        if bodyIsSlow {
            answersBegun += 1
            answersEnded += 1
            answerIsLast = true
            linger(now: now)
            return .refuseSlowBody
        }
        phase = .closed
        return .close
    }

    private mutating func linger(now: NIODeadline) {
        phase = .lingering(bytesLeft: limits.lingerBytes)
        deadline = now + .seconds(limits.lingerSeconds)
    }
}
