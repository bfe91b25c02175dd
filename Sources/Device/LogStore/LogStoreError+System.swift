import FoundationEssentials
import Glibc
import WireModel

extension LogStoreError {
    /// A failed system call, sorted by what it means for the caller.
    /// - Parameter action: what was being done, e.g. `writing`.
    package static func system(_ action: String, _ path: String, errno number: Int32 = Glibc.errno) -> LogStoreError {
        let (code, remedy): (Code, String) =
            switch number {
            case ENOSPC, EDQUOT: (.diskFull, "Make room on the disk.")
            case ENOENT: (.notFound, "Check the path.")
            case EEXIST: (.exists, "Give another name, or remove it.")
            case EACCES, EPERM, EROFS: (.io, "Run as the user whose files these are.")
            default: (.io, "Check the disk.")
            }
        let denial = number == EROFS ? nil : AccessDenial.text(path, number)
        let words = denial.map { "\($0)." } ?? "\(String(cString: strerror(number))) (errno \(number)). \(remedy)"
        return LogStoreError(
            code, "\(action) \(path) failed: \(words)", cause: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
    }
}
