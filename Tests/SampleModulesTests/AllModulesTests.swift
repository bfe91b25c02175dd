import DeviceTestKit
import MetricCatalog
import Testing
import WireModel

@testable import SampleModules

@Suite("Every module on every machine")
struct AllModulesTests {
    private static func modules(_ host: any HostSource, _ log: RecordedLog) -> [any SampleModule] {
        [
            SystemModule(host: host, logger: log.logger()), NetworkDataModule(host: host, logger: log.logger()),
            NetworkAdapterModule(host: host, logger: log.logger()), WLANModule(host: host, logger: log.logger()),
        ]
    }

    @Test(arguments: CapturedMachine.allCases)
    func `each captured machine gives each sample twice, and nothing of it is odd`(machine: CapturedMachine) throws {
        let log = RecordedLog()
        for var module in Self.modules(machine.host(), log) {
            for second: UInt64 in [900_000, 900_001] {
                let result = module.sample(
                    at: SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: second * 1_000_000))
                switch result {
                case .sample(let sample):
                    #expect(sample.module == module.name.rawValue)
                    let points = try MetricCatalog.points(ofKind: sample.kind, body: sample.body)
                    #expect(!points.isEmpty)
                    #expect(sample.body.count < 16 * 1_024)
                case .none(let reason):
                    #expect(machine == .server && module.name == .wlan2, "\(module.name): \(reason)")
                }
            }
        }
        #expect(log.entries.filter { $0.hasPrefix("warning") || $0.contains("net") } == [])
    }

    @Test
    func `a small board is told by its device tree, and has no power supply and no made-up one`() {
        var module = SystemModule(host: CapturedMachine.board.host(), logger: RecordedLog().logger())
        let sample = module.read(at: SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: 86_400_000_000))
        #expect(
            sample.identity.model == "Raspberry Pi 4 Model B Rev 1.4"
                && sample.identity.operatingSystem.architecture == "aarch64")
        #expect(sample.identity.logicalCores == 4 && sample.identity.cpuModel.isEmpty && sample.identity.vendor.isEmpty)
        #expect(!sample.hasPower && !sample.hasPressure)
        #expect(sample.temperatures.map(\.sensor) == ["cpu_thermal/temp1", "gpu/thermal_zone1"])
        #expect(sample.fileSystems.map(\.mountPoint) == ["/", "/boot"] && sample.fileSystems[0].inodes == 1_900_000)
        let next = module.read(at: SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: 86_401_000_000))
        #expect(next.blockDevices.map(\.name) == ["mmcblk0"])
    }

    @Test
    func `the machine at hand gives what it has, and reasons for what it has not`() throws {
        let host = LinuxHostSource()
        let log = RecordedLog()
        for var module in Self.modules(host, log) {
            _ = module.sample(at: host.now())
            switch module.sample(at: host.now()) {
            case .sample(let sample):
                let points = try MetricCatalog.points(ofKind: sample.kind, body: sample.body)
                #expect(!points.isEmpty)
            case .none(let reason):
                #expect(module.name == .wlan2 && !reason.isEmpty)
            }
        }
        var network = NetworkDataModule(host: host, logger: log.logger())
        _ = network.read(at: host.now())
        let read = network.read(at: host.now())
        let sample = try #require(read)
        #expect(sample.hasTcpActiveOpens && sample.hasSocketsInUse && sample.intervalMicroseconds > 0)
        #expect(
            sample.interfaces.allSatisfy {
                !$0.name.isEmpty && $0.hasDelta && $0.delta.receivedBytes <= $0.total.receivedBytes
            })
        var adapters = NetworkAdapterModule(host: host, logger: log.logger())
        let listed = adapters.read(at: host.now())?.adapters ?? []
        let loopback = try #require(listed.first { $0.name == "lo" })
        #expect(
            loopback.class == .loopback
                && loopback.addresses.contains { $0.address == "127.0.0.1" && $0.prefixLength == 8 })
    }
}
