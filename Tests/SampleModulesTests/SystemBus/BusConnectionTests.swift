import DeviceTestKit
import Glibc
import Testing

@testable import SampleModules

/// Against a real message bus and services of the test's own.
@Suite(.timeLimit(.minutes(5))) struct BusConnectionTests {
    private static let call = BusConnection.Call(
        destination: "test.service", path: "/test", interface: "test.Interface", member: "Ask", arguments: ["a", "b"])

    private static func service(_ bus: PrivateBus, _ answer: ScriptedBusService.Answer) throws -> ScriptedBusService {
        try ScriptedBusService("test.service", on: bus) { _ in answer }
    }

    @Test func `A call delivers its arguments and returns the answer`() throws {
        let bus = try PrivateBus()
        let service = try Self.service(
            bus,
            .values([
                .text("text"), .path("/path"), .number(7), .boolean(true), .variant(.variant(.number(8))),
                .structure([.number(1), .text("two")]), .array(of: "s", [.text("x"), .text("y")]),
                .properties(["key": .boolean(false)]), .array(of: "s", []),
            ]))
        defer { service.stop() }
        let values = try BusConnection(bus.address, milliseconds: 20_000).call(Self.call)
        #expect(
            values == [
                .text("text"), .text("/path"), .unsigned(7), .boolean(true), .unsigned(8),
                .structure([.unsigned(1), .text("two")]), .array([.text("x"), .text("y")]),
                .dictionary(["key": .boolean(false)]), .array([]),
            ])
        #expect(service.calls == [.init(path: "/test", member: "Ask", arguments: ["a", "b"])])
    }

    @Test func `A descriptor outlives its message`() throws {
        let bus = try PrivateBus()
        let file = try #require(fopen("/dev/null", "r"))
        // The service closes the one that it sends.
        let service = try Self.service(bus, .values([.descriptor(dup(fileno(file)))]))
        defer { service.stop() }
        fclose(file)
        let descriptor = try BusConnection(bus.address, milliseconds: 20_000).callForDescriptor(Self.call)
        var status = stat()
        #expect(fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
        close(descriptor)
    }

    @Test func `Failures say what is missing`() throws {
        let bus = try PrivateBus()
        let connection = try BusConnection(bus.address, milliseconds: 20_000)
        #expect { try connection.call(Self.call) } throws: { error in
            guard case BusConnection.Failure.refused(let why) = error else { return false }
            return why.contains("test.service")
        }
        let service = try Self.service(bus, .error("test.Error.No"))
        defer { service.stop() }
        #expect { try connection.call(Self.call) } throws: { error in
            guard case BusConnection.Failure.refused(let why) = error else { return false }
            return why.contains("test.Error.No")
        }
        #expect { try BusConnection("unix:path=/nonexistent/bus", milliseconds: 1000) } throws: { error in
            guard case BusConnection.Failure.absent(let why) = error else { return false }
            return why.contains("/nonexistent/bus")
        }
        try bus.restart()
        #expect { try connection.call(Self.call) } throws: { error in
            guard let failure = error as? BusConnection.Failure else { return false }
            return failure == .hungUp
        }
    }

    /// A socket whose backlog nobody empties: the connection is made and never answered.
    @Test func `A bus that never answers is given up in time`() throws {
        let path = "/tmp/ws1-silent-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        defer {
            close(listener)
            unlink(path)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(listener, 1) == 0)
        let start = ContinuousClock.now
        #expect(throws: BusConnection.Failure.timedOut) {
            try BusConnection("unix:path=\(path)", milliseconds: 300)
        }
        #expect(start.duration(to: .now) < .seconds(15))
    }
}
