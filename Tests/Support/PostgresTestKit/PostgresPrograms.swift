import Foundation

/// Runs PostgreSQL's programs. They refuse to run as root, so root runs them as the user `postgres`.
enum PostgresPrograms {
    static let folder = "/usr/lib/postgresql/15/bin"

    /// The words before a program that drop root's rights.
    static let prefix: [String] =
        getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : []

    static func command(_ program: String, _ arguments: [String]) throws -> [String] {
        let path = "\(folder)/\(program)"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw PostgresTestFailure("\(path) is missing; install Debian's package postgresql-15")
        }
        return prefix + [path] + arguments
    }

    /// Runs a program to its end. Blocks.
    /// - Returns: its standard output.
    @discardableResult
    static func run(_ command: [String], input: String? = nil) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"]
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        let output = Pipe()
        let errors = Pipe()
        let standardInput = Pipe()
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        if let input { try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8)) }
        try standardInput.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaints = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw PostgresTestFailure("\(command.joined(separator: " ")): \(complaints)\(text)")
        }
        return text
    }

    /// Makes a folder that the servers can use.
    static func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try giveAway(path)
    }

    /// Makes the servers' user the owner of a file or folder.
    static func giveAway(_ path: String) throws {
        guard getuid() == 0 else { return }
        guard let user = getpwnam("postgres") else { throw PostgresTestFailure("there is no user postgres") }
        guard chown(path, user.pointee.pw_uid, user.pointee.pw_gid) == 0 else {
            throw PostgresTestFailure("chown of \(path) failed (errno \(errno))")
        }
    }
}
