import CommandKit
import ControlSocket
import Glibc
import TelemetryBasics
import WireModel

/// A group of users who may ask the running agent and read its logs. By default only the agent's own user may.
struct AccessGroup: Equatable, Sendable {
    let name: String
    let id: gid_t

    /// - Throws: `.usage` if the group does not exist, or the agent's user may not give files to it.
    init(_ given: GivenSetting) throws(CommandError) {
        name = try given.text()
        guard let id = AccessDenial.groupID(name) else { throw given.wrong("a group of this machine") }
        self.id = id
        guard geteuid() == 0 || Self.own.contains(id) else {
            throw CommandError(
                .usage,
                """
                \(given.origin): the agent's user \(AccessDenial.userName(geteuid())) is not in group \(name). Add the \
                user, in a systemd unit with SupplementaryGroups=\(name)
                """)
        }
    }

    private static var own: [gid_t] {
        var groups = [gid_t](repeating: 0, count: 1024)
        let count = getgroups(Int32(groups.count), &groups)
        return Array(groups.prefix(Int(max(0, count)))) + [getegid()]
    }

    /// Lets the group enter the data directory, without listing it, and read the logs. New log files get the group and
    /// mode of their directory.
    func open(data directory: String) throws(CommandError) {
        try hand(directory, 0o710)
        let logs = "\(directory)/logs"
        guard Paths.exists(logs) else { return }
        try hand(logs, 0o750)
        for file in (try? Files<FileError>.names(in: logs)) ?? [] where file.first != "." {
            try hand("\(logs)/\(file)", 0o640)
        }
    }

    /// Lets the group write requests to the socket.
    func open(socket path: String) throws(CommandError) { try hand(path, 0o660) }

    private func hand(_ path: String, _ mode: mode_t) throws(CommandError) {
        guard chown(path, .max, id) == 0, chmod(path, mode) == 0 else {
            // Rotation has removed the file meanwhile.
            if errno == ENOENT { return }
            throw CommandError(.failed, "group \(name) gets no access to \(path): \(String(cString: strerror(errno)))")
        }
    }
}
