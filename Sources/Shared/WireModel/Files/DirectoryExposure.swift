import Glibc

/// Who else can change what lies in a data directory that was there already; one that a program makes has mode 0700.
///
/// Whoever can write there can put another queue, another identity or another registry in place. It is warned of and not refused: volumes of
/// containers come with mode 0777 and belong to root, and a device that goes dark after an update is worse off than one whose log says what to mend.
package enum DirectoryExposure: Equatable, Sendable {
    case everybody(mode: UInt32)
    case group(mode: UInt32)
    /// Neither root nor the program's user.
    case owner(UInt32)

    /// Pure.
    /// - Parameters:
    ///   - mode: the directory's permission bits.
    ///   - user: the program's effective user.
    package static func of(mode: UInt32, owner: UInt32, user: UInt32) -> [DirectoryExposure] {
        var found: [DirectoryExposure] = []
        if mode & 0o002 != 0 {
            found.append(.everybody(mode: mode & 0o7777))
        } else if mode & 0o020 != 0 {
            found.append(.group(mode: mode & 0o7777))
        }
        if owner != user, owner != 0 { found.append(.owner(owner)) }
        return found
    }

    /// Of a directory as it is now; nothing of one that is not there.
    package static func of(directory path: String) -> [DirectoryExposure] {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
        return of(mode: status.st_mode, owner: status.st_uid, user: geteuid())
    }

    /// What it means, and what to do.
    package func message(_ path: String) -> String {
        let (who, remedy) =
            switch self {
            case .everybody(let mode): ("every user of this machine (mode 0\(String(mode, radix: 8)))", "chmod go-w \(path)")
            case .group(let mode): ("the directory's group (mode 0\(String(mode, radix: 8)))", "chmod g-w \(path)")
            case .owner(let owner): ("its owner, user \(owner), who is not the one this program runs as", "chown -R \(geteuid()) \(path)")
            }
        return "the data directory \(path) can be changed by \(who), and with it what this program keeps there: \(remedy)"
    }
}
