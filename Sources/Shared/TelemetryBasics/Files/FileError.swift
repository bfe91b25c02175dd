import Glibc

/// A system call on a file that failed.
package struct FileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The action that failed: `opening`, `writing`.
    package let action: String
    package let path: String
    /// The call's `errno`.
    package let systemError: Int32

    /// - Parameter systemError: by default that of the call that has just failed.
    package init(_ action: String, _ path: String, _ systemError: Int32 = errno) {
        self.action = action
        self.path = path
        self.systemError = systemError
    }

    /// There was no room: see ``meansNoRoom(_:)``.
    package var isDiskFull: Bool { Self.meansNoRoom(systemError) }

    /// The disk's bytes or inodes or a quota are used up, or the file may not be larger. Somebody can make room, so the
    /// same may succeed later.
    package static func meansNoRoom(_ systemError: Int32) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(systemError) }

    /// A signal interrupted a call that cannot be repeated here. Trying the whole again can help.
    package var isInterrupted: Bool { systemError == EINTR }

    /// Who has closed the path, and who can use it; `nil` where the system did not refuse this user.
    package var denial: String? { AccessDenial.text(path, systemError) }

    /// The text without a full stop, so that a remedy can follow.
    package var description: String { "\(action) \(path) failed: \(denial ?? Self.words(systemError))" }

    /// The system's words for a number: `No space left on device (errno 28)`.
    package static func words(_ systemError: Int32) -> String {
        "\(String(cString: strerror(systemError))) (errno \(systemError))"
    }
}

extension FileError: FileFailure {
    package init(_ error: FileError) { self = error }
}

/// Makes a system call, and makes it again for as long as signals interrupt it.
/// - Returns: what the call returned; negative where it failed, with the reason in `errno`.
@inline(__always)
package func retryingOnInterrupt<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// Writes all bytes at the descriptor's position.
/// - Returns: how many were written, and `errno` where those are not all.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> (written: Int, systemError: Int32?) {
    var written = 0
    while written < bytes.count {
        let count = retryingOnInterrupt { write(descriptor, bytes.baseAddress! + written, bytes.count - written) }
        guard count > 0 else { return (written, count < 0 ? errno : EIO) }
        written += count
    }
    return (written, nil)
}
