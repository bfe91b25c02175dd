import Foundation
import Glibc
import TestKit

/// A pseudo-terminal: a program has one end for its output, a test reads the other.
final class Terminal: Sendable {
    /// TIOCSPTLCK and TIOCGPTN, which the Glibc module leaves out.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    private let controller: Int32
    /// What a program is given.
    let end: FileHandle

    init() throws {
        controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (locked, number) = (Int32(0), Int32(0))
        guard controller >= 0, ioctl(controller, Self.setLock, &locked) == 0,
            ioctl(controller, Self.getNumber, &number) == 0
        else {
            throw POSIXError(.ENOTTY)
        }
        let descriptor = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.ENOTTY) }
        end = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    deinit { close(controller) }

    /// Everything until nobody has the other end open any more; it is let go of here.
    func read() async throws -> String {
        try end.close()
        return await BlockingCall.run { [self] in
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = Glibc.read(controller, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // EIO: the other end is closed.
                guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
                bytes += buffer[..<count]
            }
        }
    }
}
