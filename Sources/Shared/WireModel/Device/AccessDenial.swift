import Glibc

/// Why this user may not open a path, in words: which directory or file is in the way, whose it is, and who this is.
package struct AccessDenial: CustomStringConvertible {
    /// The first directory on the way that this user may not enter; the path itself where there is none.
    package let path: String
    /// `user ws1agent, group adm, mode 0700`; `nil` where even that is hidden.
    let owner: String?
    /// Its owner's name; `nil` where it is hidden.
    package let user: String?

    /// To be asked when an open, a stat or a connect ended with EACCES or EPERM.
    package init(_ path: String) {
        let place = Self.obstacle(path)
        self.path = place
        var status = stat()
        guard stat(place, &status) == 0 else {
            (owner, user) = (nil, nil)
            return
        }
        let user = Self.userName(status.st_uid)
        let mode = String(status.st_mode & 0o7777, radix: 8)
        self.user = user
        owner = "user \(user), group \(Self.groupName(status.st_gid)), mode 0\(mode)"
    }

    /// Without a full stop, so that a sentence can go on with what to do.
    package var description: String {
        "no permission: \(path) \(owner.map { "belongs to \($0)" } ?? "is closed"), and this is user \(Self.userName(geteuid()))"
    }

    /// Who can do it without anything being changed.
    package var remedy: String {
        user.map { $0 == "root" ? "Run it as root" : "Run it as \($0) or root" } ?? "Run it as root"
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
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.gr_name else {
            return "\(id)"
        }
        return String(cString: name)
    }

    /// - Returns: `nil` where the system knows no such group.
    package static func groupID(_ name: String) -> gid_t? {
        if let id = gid_t(name) { return id }
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 65_536)
        guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.gr_gid
    }
}
