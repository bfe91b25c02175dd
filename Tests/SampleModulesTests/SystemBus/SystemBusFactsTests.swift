import DeviceTestKit
import Foundation
import Logging
import Testing
import WireModel

@testable import SampleModules

/// Against a real message bus; the services on it are the test's own and answer as NetworkManager 1.42 and ModemManager
/// 1.20 do.
@Suite struct SystemBusFactsTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Long enough for a machine under load; nothing waits for it where all goes well.
    private func facts(_ address: String, milliseconds: Int64 = 20_000) -> SystemBusFacts {
        SystemBusFacts(address: address, timeoutMilliseconds: milliseconds, logger: quiet)
    }

    /// NetworkManager, which answers each question for a property alike.
    private static func networkManager(_ bus: PrivateBus, _ answer: ScriptedBusService.Answer) throws
        -> ScriptedBusService
    {
        try ScriptedBusService("org.freedesktop.NetworkManager", on: bus) { call in
            call.member == "Get" ? answer : .error("org.freedesktop.DBus.Error.UnknownMethod")
        }
    }

    /// ModemManager with one modem.
    private static func modemManager(_ bus: PrivateBus, registration: UInt32) throws -> ScriptedBusService {
        let modem = BusContent.entry(
            .text("org.freedesktop.ModemManager1.Modem.Modem3gpp"),
            .properties(["OperatorName": .text("Example"), "RegistrationState": .number(registration)]))
        let modems = BusContent.array(
            of: "{oa{sa{sv}}}",
            [.entry(.path("/org/freedesktop/ModemManager1/Modem/0"), .array(of: "{sa{sv}}", [modem]))])
        return try ScriptedBusService("org.freedesktop.ModemManager1", on: bus) { call in
            call.member == "GetManagedObjects"
                ? .values([modems]) : .error("org.freedesktop.DBus.Error.UnknownMethod")
        }
    }

    @Test func `The client speaks with a real bus`() throws {
        let bus = try PrivateBus()
        let connection = try BusConnection(bus.address, milliseconds: 20_000)
        let features = try connection.property(
            "Interfaces", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", destination: "org.freedesktop.DBus")
        guard case .array(let interfaces) = features else {
            Issue.record("\(features)")
            return
        }
        #expect(interfaces.contains(.text("org.freedesktop.DBus.Monitoring")))
        #expect(throws: BusConnection.Failure.self) {
            try connection.property("Metered", of: "x.y", at: "/", destination: "org.freedesktop.NetworkManager")
        }
    }

    @Test(arguments: [(0, nil), (1, true), (2, false), (3, true), (4, false), (99, nil)] as [(UInt32, Bool?)])
    func `Metered is what NetworkManager says or guesses`(value: UInt32, metered: Bool?) throws {
        let bus = try PrivateBus()
        let service = try Self.networkManager(bus, .values([.variant(.number(value))]))
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: false) == BusFacts(metered: metered, roaming: nil))
    }

    @Test(
        arguments: [(0, nil), (1, false), (2, nil), (5, true), (6, false), (7, true), (9, false), (10, true)]
            as [(UInt32, Bool?)])
    func `Roaming is what the modem is registered as`(state: UInt32, roaming: Bool?) throws {
        let bus = try PrivateBus()
        let service = try Self.modemManager(bus, registration: state)
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: true) == BusFacts(metered: nil, roaming: roaming))
        #expect(facts(bus.address).facts(cellular: false) == BusFacts())
    }

    @Test func `Without a bus or a service, nothing is known and nothing is wrong`() throws {
        #expect(facts("unix:path=/nonexistent/bus").facts(cellular: true) == BusFacts())
        let bus = try PrivateBus()
        #expect(facts(bus.address).facts(cellular: true) == BusFacts())
        let service = try Self.networkManager(bus, .error("org.freedesktop.DBus.Error.UnknownProperty"))
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: false) == BusFacts(), "one that does not know the property")
    }

    @Test func `A service that never answers is given up in time`() throws {
        let bus = try PrivateBus()
        let service = try Self.networkManager(bus, .silence)
        defer { service.stop() }
        let clock = ContinuousClock()
        let start = clock.now
        #expect(facts(bus.address, milliseconds: 300).facts(cellular: false) == nil)
        let took = clock.now - start
        #expect(took >= .milliseconds(250) && took < .seconds(15), "\(took)")
    }

    @Test func `An answer of another type is no answer`() throws {
        let bus = try PrivateBus()
        let service = try Self.networkManager(bus, .values([.variant(.text("yes"))]))
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: false) == BusFacts())
    }

    @Test func `The conditions of a machine with a metered network say that it is`() throws {
        let bus = try PrivateBus()
        let service = try Self.networkManager(bus, .values([.variant(.number(1))]))
        defer { service.stop() }
        let conditions = LinuxConditions(host: CapturedMachine.laptop.host(), bus: facts(bus.address), logger: quiet)
        #expect(conditions.current().metered == true)
    }
}
