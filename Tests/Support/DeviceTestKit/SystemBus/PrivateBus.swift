import Foundation

/// Why a bus or a service on it could not be started.
struct BusTestFailure: Error { var what: String }

/// A real dbus-daemon with a configuration and a socket of its own, ended with the test.
package final class PrivateBus {
    private static let daemon = "/usr/bin/dbus-daemon"

    /// The address as in `DBUS_SYSTEM_BUS_ADDRESS`.
    package let address: String
    private var process: Process
    private let directory: URL

    package init() throws {
        guard FileManager.default.isExecutableFile(atPath: Self.daemon) else {
            throw BusTestFailure(what: "Debian's package dbus is missing; Tools/test installs it")
        }
        directory = FileManager.default.temporaryDirectory.appending(path: "ws1-bus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        address = "unix:path=\(directory.appending(path: "bus").path)"
        try Data(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>custom</type>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_destination="*"/>
                <allow receive_sender="*"/>
              </policy>
            </busconfig>

            """.utf8
        ).write(to: directory.appending(path: "bus.conf"))
        process = Process()
        try start()
    }

    private func start() throws {
        process = Process()
        process.executableURL = URL(filePath: Self.daemon)
        process.arguments = [
            "--config-file=\(directory.appending(path: "bus.conf").path)", "--nofork", "--nopidfile",
            "--print-address=1",
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // It prints its address once it listens.
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard line.hasPrefix(address) else { throw BusTestFailure(what: "dbus-daemon does not listen: \(line)") }
    }

    /// Ends it and starts it again; all connections are lost.
    package func restart() throws {
        end()
        try? FileManager.default.removeItem(at: directory.appending(path: "bus"))
        try start()
    }

    private func end() {
        // A child inherits the signals that the thread blocks which starts it, and the runtime's threads block SIGTERM.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    deinit {
        end()
        try? FileManager.default.removeItem(at: directory)
    }
}
