import Glibc

private typealias GroupEntry = group

/// Why this user may not open a path, in words: which directory or file is in the way, whose it is, and who this is.
package struct AccessDenial: CustomStringConvertible {
    /// The first directory on the way that this user may not enter; the path itself where there is none.
    package let path: String
    /// `user ws1agent, group adm, mode 0700`; `nil` where even that is hidden.
    let owner: String?
    /// Its owner's name; `nil` where it is hidden.
    package let user: String?
    /// The group whose members may pass; `nil` where none may, or where it is hidden.
    package let group: String?

    /// Examines a path after an open, a stat or a connect ended with EACCES or EPERM.
    package init(_ path: String) {
        let place = Self.obstacle(path)
        self.path = place
        var status = stat()
        guard stat(place, &status) == 0 else {
            (owner, user, group) = (nil, nil, nil)
            return
        }
        let user = Self.userName(status.st_uid)
        let mode = String(status.st_mode & 0o7777, radix: 8)
        let group = Self.groupName(status.st_gid)
        self.user = user
        owner = "user \(user), group \(group), mode 0\(mode)"
        // A directory is entered by its x. A file or a socket is read or written.
        let asked: mode_t = status.st_mode & S_IFMT == S_IFDIR ? S_IXGRP : S_IRGRP | S_IWGRP
        self.group = status.st_mode & asked == 0 ? nil : group
    }

    /// The text without a full stop, so that a sentence can go on with what to do.
    package var description: String {
        "no permission: \(path) \(owner.map { "belongs to \($0)" } ?? "is closed"), and this is user "
            + "\(Self.userName(geteuid()))"
    }

    /// Who can do it: the owner, root, or a member of the group that may pass.
    package var remedy: String {
        let owner = user.map { $0 == "root" ? "Run it as root" : "Run it as \($0) or root" } ?? "Run it as root"
        guard let group else { return owner }
        return "\(owner), or as a member of group \(group) (`usermod -aG \(group) \(Self.userName(geteuid()))`)"
    }

    /// The text, where the system's last word was that this user may not.
    package static func text(_ path: String, _ systemError: Int32) -> String? {
        guard systemError == EACCES || systemError == EPERM else { return nil }
        let denial = AccessDenial(path)
        return "\(denial). \(denial.remedy)"
    }

    private static func obstacle(_ path: String) -> String {
        var prefix = path.hasPrefix("/") ? "/" : "."
        let names = path.split(separator: "/")
        for name in names {
            guard faccessat(AT_FDCWD, prefix, X_OK, AT_EACCESS) == 0 || errno != EACCES else { return prefix }
            prefix = prefix == "/" ? "/\(name)" : prefix == "." ? String(name) : "\(prefix)/\(name)"
            // A link may lead through a directory that is closed: that one is in the way.
            var status = stat()
            guard stat(prefix, &status) != 0, errno == EACCES, let target = realTarget(prefix) else { continue }
            return target
        }
        return prefix
    }

    /// Where a link's target begins to be closed, one link deep.
    private static func realTarget(_ link: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = readlink(link, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let target = String(decoding: bytes.prefix(count), as: UTF8.self)
        guard !target.hasPrefix("/"), let slash = link.lastIndex(of: "/") else { return obstacle(target) }
        return obstacle("\(link[..<slash])/\(target)")
    }

    package static func userName(_ id: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.pw_name else {
            return "\(id)"
        }
        return String(cString: name)
    }

    package static func groupName(_ id: gid_t) -> String {
        var entry = GroupEntry()
        var found: UnsafeMutablePointer<GroupEntry>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.gr_name else {
            return "\(id)"
        }
        return String(cString: name)
    }

    /// - Returns: `nil` where the system knows no such group.
    package static func groupID(_ name: String) -> gid_t? {
        if let id = gid_t(name) { return id }
        var entry = GroupEntry()
        var found: UnsafeMutablePointer<GroupEntry>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.gr_gid
    }
}

/// Why a file cannot be used, in one line of our own rather than a library's words: what the file system says, else the
/// fault in its content.
package struct FileFault {
    private let systemWords: String?

    package init(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let systemError = errno
        guard descriptor >= 0 else {
            systemWords = AccessDenial.text(path, systemError) ?? String(cString: strerror(systemError))
            return
        }
        defer { close(descriptor) }
        var status = stat()
        systemWords = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? "it is a directory" : nil
    }

    package func words(otherwise content: String) -> String { systemWords ?? content }
}

/// Who else can change what lies in a data directory that was there already; one that a program makes has mode 0700.
///
/// Whoever can write there can put another queue, another identity or other metadata in place. It is warned of and
/// not refused: volumes of containers come with mode 0777 and belong to root, and a device that goes dark after an
/// update is worse off than one whose log says what to mend.
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

    /// The exposures of a directory as it is now; none of one that is not there.
    package static func of(directory path: String) -> [DirectoryExposure] {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
        return of(mode: status.st_mode, owner: status.st_uid, user: geteuid())
    }

    /// The text: what it means, and what to do.
    package func message(_ path: String) -> String {
        let (who, remedy) =
            switch self {
            case .everybody(let mode):
                ("every user of this machine (mode 0\(String(mode, radix: 8)))", "chmod go-w \(path)")
            case .group(let mode): ("the directory's group (mode 0\(String(mode, radix: 8)))", "chmod g-w \(path)")
            case .owner(let owner):
                ("its owner, user \(owner), who is not the one this program runs as", "chown -R \(geteuid()) \(path)")
            }
        return
            "the data directory \(path) can be changed by \(who), and with it what this program keeps there: \(remedy)"
    }
}
