import Foundation
import Logging
import TelemetryTestKit
import Testing
import WireModel

@testable import SampleModules

/// Against a real message bus; the services on it are the test's own and answer as NetworkManager 1.42 and ModemManager
/// 1.20 do.
@Suite struct SystemBusFactsTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Long enough for a machine under load; nothing waits for it where all goes well.
    private func facts(_ address: DBusAddress?, milliseconds: Int64 = 20_000) -> SystemBusFacts {
        SystemBusFacts(address: address, timeoutMilliseconds: milliseconds, logger: quiet)
    }

    /// A variant of a number.
    private static func number(_ value: UInt32) -> ScriptedBusService.Answer {
        var body = DBusWriter()
        body.signature("u")
        body.uint32(value)
        return .init(signature: "v", body: body.bytes)
    }

    /// `a{oa{sa{sv}}}` of one modem, as GetManagedObjects answers.
    private static func modem(registration: UInt32) -> ScriptedBusService.Answer {
        var body = DBusWriter()
        body.uint32(0)
        body.align(8)
        let start = body.bytes.count
        body.text("/org/freedesktop/ModemManager1/Modem/0")
        body.uint32(0)
        body.align(8)
        let interfaces = body.bytes.count
        body.text("org.freedesktop.ModemManager1.Modem.Modem3gpp")
        body.uint32(0)
        body.align(8)
        let properties = body.bytes.count
        for (name, type) in [("OperatorName", "s"), ("RegistrationState", "u")] {
            body.align(8)
            body.text(name)
            body.signature(type)
            if type == "s" { body.text("Example") } else { body.uint32(registration) }
        }
        var bytes = body.bytes
        func patch(_ position: Int, _ from: Int) {
            withUnsafeBytes(of: UInt32(bytes.count - from).littleEndian) {
                bytes.replaceSubrange(position..<(position + 4), with: $0)
            }
        }
        func lengthPosition(_ text: String, from: Int) -> Int { (from + 4 + text.utf8.count + 1 + 3) / 4 * 4 }
        patch(0, start)
        patch(lengthPosition("/org/freedesktop/ModemManager1/Modem/0", from: start), interfaces)
        patch(lengthPosition("org.freedesktop.ModemManager1.Modem.Modem3gpp", from: interfaces), properties)
        return .init(signature: "a{oa{sa{sv}}}", body: bytes)
    }

    @Test func theClientSpeaksWithARealBus() throws {
        let bus = try PrivateBus()
        let connection = try DBusConnection(bus.address, timeoutMilliseconds: 20_000)
        let features = try connection.property(
            "Interfaces", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", destination: "org.freedesktop.DBus")
        guard case .array(let interfaces) = features else {
            Issue.record("\(features)")
            return
        }
        #expect(interfaces.contains(.text("org.freedesktop.DBus.Monitoring")))
        #expect(throws: DBusConnection.Failure.self) {
            try connection.property("Metered", of: "x.y", at: "/", destination: "org.freedesktop.NetworkManager")
        }
    }

    @Test(arguments: [(0, nil), (1, true), (2, false), (3, true), (4, false), (99, nil)] as [(UInt32, Bool?)])
    func meteredIsWhatNetworkManagerSaysOrGuesses(value: UInt32, metered: Bool?) throws {
        let bus = try PrivateBus()
        let service = try ScriptedBusService(
            "org.freedesktop.NetworkManager", on: bus, answers: ["Get": Self.number(value)])
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: false) == BusFacts(metered: metered, roaming: nil))
    }

    @Test(
        arguments: [(0, nil), (1, false), (2, nil), (5, true), (6, false), (7, true), (9, false), (10, true)]
            as [(UInt32, Bool?)])
    func roamingIsWhatTheModemIsRegisteredAs(state: UInt32, roaming: Bool?) throws {
        let bus = try PrivateBus()
        let service = try ScriptedBusService(
            "org.freedesktop.ModemManager1", on: bus, answers: ["GetManagedObjects": Self.modem(registration: state)])
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: true) == BusFacts(metered: nil, roaming: roaming))
        #expect(facts(bus.address).facts(cellular: false) == BusFacts())
    }

    @Test func withoutABusOrAServiceNothingIsKnownAndNothingIsWrong() throws {
        #expect(facts(nil).facts(cellular: true) == BusFacts())
        #expect(facts(.path("/nonexistent/bus")).facts(cellular: true) == BusFacts())
        let bus = try PrivateBus()
        #expect(facts(bus.address).facts(cellular: true) == BusFacts())
        let service = try ScriptedBusService("org.freedesktop.NetworkManager", on: bus, answers: [:])
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: false) == BusFacts(), "one that does not know the property")
    }

    @Test func aServiceThatNeverAnswersIsGivenUpInTime() throws {
        let bus = try PrivateBus()
        let service = try ScriptedBusService("org.freedesktop.NetworkManager", on: bus, answers: ["Get": nil])
        defer { service.stop() }
        let clock = ContinuousClock()
        let start = clock.now
        #expect(facts(bus.address, milliseconds: 300).facts(cellular: false) == nil)
        let took = clock.now - start
        #expect(took >= .milliseconds(250) && took < .seconds(15), "\(took)")
    }

    @Test func anAnswerOfAnotherTypeIsNoAnswer() throws {
        let bus = try PrivateBus()
        var body = DBusWriter()
        body.signature("s")
        body.text("yes")
        let service = try ScriptedBusService(
            "org.freedesktop.NetworkManager", on: bus, answers: ["Get": .init(signature: "v", body: body.bytes)])
        defer { service.stop() }
        #expect(facts(bus.address).facts(cellular: false) == BusFacts())
    }

    @Test func theConditionsOfAMachineWithAMeteredNetworkSayThatItIs() throws {
        let bus = try PrivateBus()
        let service = try ScriptedBusService(
            "org.freedesktop.NetworkManager", on: bus, answers: ["Get": Self.number(1)])
        defer { service.stop() }
        let conditions = LinuxConditions(host: CapturedMachine.laptop.host(), bus: facts(bus.address), logger: quiet)
        #expect(conditions.current().metered == true)
    }
}
