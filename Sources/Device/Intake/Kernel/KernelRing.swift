import Glibc
import TelemetryBasics

/// What one read of the kernel's ring gives.
enum KernelReading: Equatable, Sendable {
    /// A record, with so many bytes.
    case record(Int)
    /// Records that were to come next were overwritten. The next reading gives the oldest one that is left.
    case overrun
    /// Nothing is there for now.
    case end
    /// The record is longer than the buffer, and may be passed by.
    case tooLong
    /// The call's `errno`.
    case failed(Int32)
}

/// The kernel's ring, open at its oldest record. Tests give one that overruns.
protocol KernelRing: AnyObject {
    func read(into buffer: UnsafeMutableRawBufferPointer) -> KernelReading
}

/// `/dev/kmsg`. Reading takes nothing from other readers.
final class KernelDevice: KernelRing {
    static let path = "/dev/kmsg"

    private let descriptor: Int32

    init() throws(IntakeFailure) {
        let descriptor = open(Self.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        // Where the ring was cleared (dmesg --clear), a reader still begins with the oldest record.
        guard lseek(descriptor, 0, SEEK_SET) == 0 else {
            let error = errno
            close(descriptor)
            throw Self.failure(error)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> KernelReading {
        let count = retryingOnInterrupt { Glibc.read(descriptor, buffer.baseAddress!, buffer.count) }
        if count > 0 { return .record(count) }
        if count == 0 { return .end }
        return switch errno {
        case EPIPE: .overrun
        case EAGAIN: .end
        case EINVAL: .tooLong
        case let error: .failed(error)
        }
    }

    static func failure(_ error: Int32) -> IntakeFailure {
        let remedy =
            switch error {
            case EPERM:
                "where kernel.dmesg_restrict is 1 the agent needs CAP_SYSLOG, and the unit ProtectKernelLogs=no"
            case EACCES, ENOENT:
                "the unit needs PrivateDevices=no, ProtectKernelLogs=no and DeviceAllow=/dev/kmsg r"
            default: "the ring is tried again each second"
            }
        return IntakeFailure("\(path) cannot be read: \(FileError.words(error)); \(remedy)")
    }
}
