import Foundation
import Synchronization
import Testing

@testable import SampleModules

/// A real dbus-daemon with a configuration and a socket of its own, ended with the test.
final class PrivateBus {
    static let daemon = "/usr/bin/dbus-daemon"

    let address: DBusAddress
    private let process = Process()
    private let directory: URL

    init() throws {
        try #require(
            FileManager.default.isExecutableFile(atPath: Self.daemon),
            "Debian's package dbus is missing; Tools/test installs it")
        directory = FileManager.default.temporaryDirectory.appending(path: "ws1-bus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let socket = directory.appending(path: "bus").path
        let configuration = directory.appending(path: "bus.conf")
        try Data(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>custom</type>
              <listen>unix:path=\(socket)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow user="*"/>
                <allow own="*"/>
                <allow send_destination="*"/>
                <allow receive_sender="*"/>
              </policy>
            </busconfig>

            """.utf8
        ).write(to: configuration)
        address = .path(socket)
        process.executableURL = URL(filePath: Self.daemon)
        process.arguments = ["--config-file=\(configuration.path)", "--nofork", "--nopidfile", "--print-address=1"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // It prints its address once it listens.
        let line = output.fileHandleForReading.availableData
        try #require(String(decoding: line, as: UTF8.self).hasPrefix("unix:path=\(socket)"))
    }

    deinit {
        // A child inherits the signals that the thread blocks which starts it, and the runtime's threads block SIGTERM.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }
}

/// A service on a bus that answers every call of a method with the same values; written apart from the client it is to
/// test but for reading and writing single values.
final class ScriptedBusService: Sendable {
    struct Answer: Sendable {
        var signature: String
        var body: [UInt8]
    }

    private let descriptor: CInt

    /// - Parameter answers: by method; `nil`: the call is never answered, one that is not there gets an error.
    init(_ name: String, on bus: PrivateBus, answers: [String: Answer?]) throws {
        guard case .path(let path) = bus.address else { preconditionFailure("a private bus has a path") }
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var storage = sockaddr_un()
        storage.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &storage.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
        let connected = withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(connected == 0)
        let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        write(Array("\0AUTH EXTERNAL \(user)\r\n".utf8))
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n") { line += read(1) }
        try #require(line.starts(with: Array("OK".utf8)))
        write(Array("BEGIN\r\n".utf8))
        let bus = "org.freedesktop.DBus"
        let path2 = "/org/freedesktop/DBus"
        write(DBusMessage.encode(.init(destination: bus, path: path2, interface: bus, member: "Hello"), serial: 1))
        // RequestName(su): a call of text and a number, which the client's encoder does not write.
        write(
            Self.message(
                1, serial: 2, fields: [(1, "o", path2), (2, "s", bus), (3, "s", "RequestName"), (6, "s", bus)],
                reply: nil, "su"
            ) {
                $0.text(name)
                $0.uint32(0)
            })
        let owned = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in serve(answers, owned: owned) }
        // The name is ours once the bus has answered.
        try #require(owned.wait(timeout: .now() + 20) == .success, "the bus did not give the service its name")
    }

    deinit { close(descriptor) }

    /// Hangs up, which ends its thread.
    func stop() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    private func serve(_ answers: [String: Answer?], owned: DispatchSemaphore) {
        var serial: UInt32 = 10
        while true {
            let prefix = read(16)
            guard prefix.count == 16, let length = DBusMessage.length(prefix) else { return }
            let message = prefix + read(length - 16)
            var reader = DBusReader(message[...], isLittleEndian: true)
            guard let fixed = reader.values("yyyyuu"), let fields = reader.values("a(yv)"),
                case .array(let list)? = fields.first
            else {
                return
            }
            var texts: [UInt64: String] = [:]
            var replySerial: UInt64?
            for case .structure(let members) in list {
                guard let code = members[0].unsignedValue else { continue }
                texts[code] = members[1].textValue
                if code == 5 { replySerial = members[1].unsignedValue }
            }
            if fixed[1] == .unsigned(2), replySerial == 2 { owned.signal() }
            guard fixed[1] == .unsigned(1), let sender = texts[7], let call = fixed[5].unsignedValue else { continue }
            serial += 1
            guard let answer = answers[texts[3] ?? ""] else {
                let error = "org.freedesktop.DBus.Error.UnknownMethod"
                write(
                    Self.message(
                        3, serial: serial, fields: [(4, "s", error), (6, "s", sender)], reply: UInt32(call), ""
                    ) { _ in })
                continue
            }
            guard let answer else { continue }
            write(
                Self.message(2, serial: serial, fields: [(6, "s", sender)], reply: UInt32(call), answer.signature) {
                    $0.raw(answer.body)
                })
        }
    }

    private static func message(
        _ type: UInt8, serial: UInt32, fields: [(UInt8, String, String)], reply: UInt32?, _ signature: String,
        _ body: (inout DBusWriter) -> Void
    ) -> [UInt8] {
        var content = DBusWriter()
        body(&content)
        var header = DBusWriter()
        for (code, type, value) in fields { header.field(code, type, value) }
        if let reply {
            header.align(8)
            header.raw([5, 1, UInt8(ascii: "u"), 0])
            header.uint32(reply)
        }
        if !signature.isEmpty { header.signatureField(8, signature) }
        var message = DBusWriter()
        message.raw([UInt8(ascii: "l"), type, 0, 1])
        message.uint32(UInt32(content.bytes.count))
        message.uint32(serial)
        message.uint32(UInt32(header.bytes.count))
        message.raw(header.bytes)
        message.align(8)
        return message.bytes + content.bytes
    }

    private func write(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress! + sent, $0.count - sent, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Fewer where the bus hung up.
    private func read(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + filled, count - filled, 0) }
            guard got > 0 else { break }
            filled += got
        }
        return Array(bytes.prefix(filled))
    }
}
