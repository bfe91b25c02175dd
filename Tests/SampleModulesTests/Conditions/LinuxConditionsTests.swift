import DeviceTestKit
import Logging
import Synchronization
import Testing
import WireModel

@testable import SampleModules

@Suite struct LinuxConditionsTests {
    /// Network services that say what they are asked to, and remember what they were asked.
    final class ScriptedBusFacts: BusFactsSource {
        private let answer: Mutex<BusFacts?>
        private let questions = Mutex<[Bool]>([])

        init(_ answer: BusFacts?) { self.answer = Mutex(answer) }

        var asked: [Bool] { questions.withLock { $0 } }

        func say(_ facts: BusFacts?) { answer.withLock { $0 = facts } }

        func facts(cellular: Bool) -> BusFacts? {
            questions.withLock { $0.append(cellular) }
            return answer.withLock { $0 }
        }
    }

    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func conditions(
        _ host: CapturedHostSource, _ bus: ScriptedBusFacts = ScriptedBusFacts(BusFacts()),
        network: WireNetworkClass = .ethernet, interface: String = "eth0"
    ) -> LinuxConditions {
        LinuxConditions(host: host, bus: bus, logger: quiet) { _ in
            LinuxConditions.Route(interface: interface, network: network)
        }
    }

    private static func advance(_ host: CapturedHostSource, seconds: UInt64) {
        host.change {
            $0.time = SampleTime(
                wallMicroseconds: 0, sinceBootMicroseconds: $0.time.sinceBootMicroseconds + seconds * 1_000_000)
        }
    }

    private static func battery(_ status: String, capacity: Int) -> String {
        """
        POWER_SUPPLY_NAME=BAT0\nPOWER_SUPPLY_TYPE=Battery\nPOWER_SUPPLY_STATUS=\(status)\nPOWER_SUPPLY_PRESENT=1\n\
        POWER_SUPPLY_CAPACITY=\(capacity)\n
        """
    }

    private static func pressure(some: String, full: String) -> String {
        "some avg10=\(some) avg60=0.00 avg300=0.00 total=1\nfull avg10=\(full) avg60=0.00 avg300=0.00 total=1\n"
    }

    @Test func `The captured laptop and server report their power`() {
        let laptop = conditions(CapturedMachine.laptop.host()).current()
        #expect(laptop.batteryLevel != nil && laptop.externalPower != nil)
        #expect(laptop.stalled == false)
        let server = conditions(CapturedMachine.server.host()).current()
        #expect(server.batteryLevel == nil && server.externalPower == true)
        #expect(server.network == .ethernet)
    }

    @Test func `The Wi-Fi network is reported where the route leaves over it`() {
        func ssid(_ machine: CapturedMachine, _ network: WireNetworkClass, _ interface: String) -> [UInt8]? {
            conditions(machine.host(), network: network, interface: interface).current().ssid
        }
        #expect(ssid(.laptop, .wifi, "wlan0") == Array("Cafe".utf8))
        #expect(ssid(.board, .wifi, "wlan0") == Array("Kiosk".utf8), "from the access point's own words")
        #expect(ssid(.laptop, .ethernet, "wlan0") == nil)
        #expect(ssid(.laptop, .wifi, "wlan7") == nil)
        #expect(ssid(.server, .wifi, "wlan0") == nil, "no radio")
    }

    @Test func `A Wi-Fi network that was left is no longer reported`() {
        let host = CapturedMachine.laptop.host()
        let conditions = conditions(host, network: .wifi, interface: "wlan0")
        #expect(conditions.current().ssid != nil)
        host.change { $0.network?.radios = [] }
        Self.advance(host, seconds: 3)
        #expect(conditions.current().ssid == nil)
    }

    @Test(
        arguments: [
            ("Discharging", false), ("Charging", true), ("Full", true), ("Not charging", true), ("Unknown", nil),
        ]
            as [(String, Bool?)])
    func `A battery without a line supply beside it is judged by what happens to it`(status: String, power: Bool?) {
        let host = CapturedHostSource()
        host.set("/sys/class/power_supply/BAT0/uevent", Self.battery(status, capacity: 64))
        let found = conditions(host).current()
        #expect(found.externalPower == power && found.batteryLevel == 6_400)
    }

    @Test func `A machine that reports nothing is not guessed at`() {
        let found = conditions(CapturedHostSource(), ScriptedBusFacts(nil), network: .unknown).current()
        var expected = DeviceConditions()
        expected.externalPower = true  // It has no battery, and runs.
        #expect(found == expected)
    }

    @Test func `A stall begins above its share and ends below half of it`() {
        let host = CapturedHostSource()
        let conditions = conditions(host)
        var seen: [Bool?] = []
        for full in ["0.00", "9.99", "10.00", "6.00", "5.00", "4.99", "9.99"] {
            host.set("/proc/pressure/memory", Self.pressure(some: "99.00", full: full))
            seen.append(conditions.current().stalled)
            Self.advance(host, seconds: 3)
        }
        #expect(seen == [false, false, true, true, true, false, false])
    }

    @Test func `Each resource can stall, and missing ones say nothing`() {
        var detector = StallDetector()
        #expect(detector.stalled(memory: nil, disk: nil) == nil)
        func file(_ some: UInt32, _ full: UInt32) -> PressureFile {
            let text =
                """
                some avg10=\(some / 100).00 avg60=0.00 avg300=0.00 total=1\nfull avg10=\(full / 100).00 avg60=0.00 \
                avg300=0.00 total=1\n
                """
            return Array(text.utf8).withUnsafeBytes { PressureFile($0) }
        }
        #expect(detector.stalled(memory: file(90_00, 10_00), disk: nil) == true)
        #expect(detector.stalled(memory: file(90_00, 9_00), disk: file(90_00, 49_00)) == true, "half of it holds on")
        #expect(detector.stalled(memory: file(90_00, 4_00), disk: file(90_00, 24_00)) == false)
        #expect(detector.stalled(memory: file(0, 0), disk: file(0, 50_00)) == true)
    }

    @Test func `Files answer for two seconds and services for ten`() {
        let host = CapturedHostSource()
        host.set("/sys/class/power_supply/BAT0/uevent", Self.battery("Discharging", capacity: 64))
        let bus = ScriptedBusFacts(BusFacts(metered: true))
        let conditions = conditions(host, bus)
        for _ in 0..<12 {
            _ = conditions.current()
            Self.advance(host, seconds: 1)
        }
        #expect(host.reads(of: "/sys/class/power_supply/BAT0/uevent") == 6)
        #expect(bus.asked.count == 2)
        #expect(conditions.current().metered == true)
    }

    @Test func `A service that does not answer is left alone for a minute, and what it said no longer holds`() {
        let host = CapturedHostSource()
        let bus = ScriptedBusFacts(BusFacts(metered: true))
        let conditions = conditions(host, bus)
        #expect(conditions.current().metered == true)
        bus.say(nil)
        Self.advance(host, seconds: 10)
        #expect(conditions.current().metered == nil)
        bus.say(BusFacts(metered: false))
        Self.advance(host, seconds: 59)
        #expect(conditions.current().metered == nil)
        #expect(bus.asked.count == 2)
        Self.advance(host, seconds: 1)
        #expect(conditions.current().metered == false)
    }

    @Test func `Modems are asked only where the route leaves by one`() {
        let bus = ScriptedBusFacts(BusFacts(metered: true, roaming: true))
        #expect(conditions(CapturedHostSource(), bus, network: .cellular).current().roaming == true)
        _ = conditions(CapturedHostSource(), bus, network: .wifi).current()
        #expect(bus.asked == [true, false])
    }

    @Test func `A clock that went back makes it look again`() {
        let host = CapturedHostSource()
        let bus = ScriptedBusFacts(BusFacts())
        let conditions = conditions(host, bus)
        host.change { $0.time = SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: 1_000_000_000) }
        _ = conditions.current()
        host.change { $0.time = SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: 5) }
        _ = conditions.current()
        #expect(bus.asked.count == 2)
    }
}
