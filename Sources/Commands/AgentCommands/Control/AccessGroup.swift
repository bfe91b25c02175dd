import CommandKit
import ControlSocket
import Glibc
import TelemetryBasics
import WireModel

/// A group of this machine's users who may ask a running agent and read its logs; by default only the agent's own user
/// may.
struct AccessGroup: Equatable, Sendable {
    let name: String
    let id: gid_t

    /// - Throws: `.usage` for a group that is not there, or that the agent's user may not hand files to.
    init(_ given: GivenSetting) throws(CommandError) {
        name = try given.text()
        guard let id = AccessDenial.groupID(name) else { throw given.wrong("a group of this machine") }
        self.id = id
        guard geteuid() == 0 || Self.own.contains(id) else {
            throw CommandError(
                .usage,
                "\(given.origin): user \(AccessDenial.userName(geteuid())), who runs the agent, is not in group \(name). Add it; in a systemd unit "
                    + "with SupplementaryGroups=\(name)")
        }
    }

    private static var own: [gid_t] {
        var groups = [gid_t](repeating: 0, count: 1024)
        let count = getgroups(Int32(groups.count), &groups)
        return Array(groups.prefix(Int(max(0, count)))) + [getegid()]
    }

    /// Opens the way to the socket, and the logs to be read: the data directory may be entered and no more, its log
    /// directory read with the files in it. Files of logs that are made later follow their directory.
    func open(data directory: String) throws(CommandError) {
        try hand(directory, 0o710)
        let logs = "\(directory)/logs"
        guard let stream = opendir(logs) else { return }
        defer { closedir(stream) }
        try hand(logs, 0o750)
        while let entry = readdir(stream) {
            let file = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if file.first != "." { try hand("\(logs)/\(file)", 0o640) }
        }
    }

    /// Lets the group write to the socket, which is how it is asked.
    func open(socket path: String) throws(CommandError) { try hand(path, 0o660) }

    private func hand(_ path: String, _ mode: mode_t) throws(CommandError) {
        guard chown(path, .max, id) == 0, chmod(path, mode) == 0 else {
            // One that rotation has removed meanwhile.
            if errno == ENOENT { return }
            throw CommandError(.failed, "group \(name) cannot be let at \(path): \(String(cString: strerror(errno)))")
        }
    }
}
