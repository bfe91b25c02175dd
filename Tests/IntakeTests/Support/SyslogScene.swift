import Glibc
import ListeningSockets
import LogStore
import TestKit
import Testing
import WireModel

@testable import Intake

/// An intake of syslog with a store behind it, and senders.
final class SyslogScene {
    let directory: TemporaryDirectory
    let clock = ManualIntakeClock()
    let source: SyslogIntake
    let committer: IntakeCommitter
    /// The store cannot be opened as long as this holds.
    let gate: Gate

    final class Gate { var isShut = false }

    /// - Parameter isUnix: with a socket at ``path``, as the first address.
    init(
        _ others: [SyslogAddress] = [], isUnix: Bool = true, isShut: Bool = false,
        _ change: (inout SyslogIntake.Configuration) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        var configuration = SyslogIntake.Configuration(
            (isUnix ? [.local(directory.file("syslog"))] : []) + others)
        change(&configuration)
        source = SyslogIntake(configuration, clock: clock.clock)
        var store = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
        store.applicationIdentifier = "syslog"
        let gate = Gate()
        gate.isShut = isShut
        self.gate = gate
        committer = IntakeCommitter(
            "syslog", source: source, limit: nil, level: .verbose, clock: clock.clock
        ) { [gate] () throws(LogStoreError) in
            if gate.isShut { throw LogStoreError(.locked, "the key is not at hand") }
            return try IntakeLog(store)
        }
    }

    var path: String { directory.file("syslog") }

    var stored: StoredLines { get throws { try StoredLines(directory.file("logs")) } }

    /// Stores until something holds; bounded by the suite's time limit.
    func until(_ holds: () throws -> Bool) throws {
        while true {
            _ = committer.step()
            if try holds() { return }
            sched_yield()
        }
    }

    func untilStored(_ lines: UInt64) throws { try until { committer.status.written.total >= lines } }

    /// A socket that is connected to the path of a datagram socket.
    static func connected(path: String) throws -> Int32 { try connected(.path(path), isStream: false) }

    /// A socket that is connected to a port of 127.0.0.1.
    static func connected(port: UInt16, isStream: Bool) throws -> Int32 {
        try connected(.internet(host: "127.0.0.1", port: port), isStream: isStream)
    }

    private static func connected(_ address: SocketAddress, isStream: Bool) throws -> Int32 {
        let system = try #require(address.system)
        let type = isStream ? SOCK_STREAM : SOCK_DGRAM
        let descriptor = socket(system.family, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        try #require(SocketAddress.call(system.bytes) { connect(descriptor, $0, $1) } == 0)
        return descriptor
    }

    static func send(_ text: String, to descriptor: Int32) throws {
        let bytes = Array(text.utf8)
        try #require(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }
}
