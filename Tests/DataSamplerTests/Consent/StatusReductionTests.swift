import Foundation
import SwiftProtobuf
import Testing
import WireModel

@testable import DataSampler

@Suite struct StatusReductionTests {
    @Test func `A beacon without consent describes the program only`() throws {
        var expected = WireBeacon()
        expected.trigger = .schedule
        expected.organizationGroup = "acme"
        expected.application = "com.example"
        expected.applicationVersion = "2"
        expected.libraryVersion = "1"
        expected.enrollment = .enrolled
        expected.managed = .yes
        expected.pushToken.token = "t"
        expected.profileRevision = 4
        expected.nextBeaconSeconds = 900
        expected.queue = [WireStreamStatus.with { $0.waiting = 3 }]
        expected.self_p.residentBytes = 9
        expected.processStartTime = 7
        expected.beaconSequence = 2
        expected.consent = .denied
        expected.slowdown.budget = "cpu"
        expected.telemetryDisabled = false

        var beacon = expected
        beacon.deviceName = "annas-laptop"
        beacon.operatingSystem.name = "linux"
        beacon.userEmail = "anna@example.org"
        beacon.userFullName = "Anna"
        beacon.userDisplayName = "A"
        beacon.deviceCompliance = .compliant
        beacon.applicationCompliance = .compliant
        beacon.compromised = .yes
        beacon.findings = [WireFinding.with { $0.detector = "x" }]
        beacon.doNotDisturb = .yes
        beacon.location.latitude = 1
        beacon.power.batteryLevel = 5
        beacon.network = .wifi
        beacon.rules = [WireRuleResult.with { $0.rule = "r" }]
        beacon.model = "m"
        beacon.uptimeSeconds = 8
        beacon.metered = true
        beacon.roaming = true
        beacon.modules = ["system"]
        #expect(try WireBeacon.decode(StatusReduction.reduced(beacon.encoded, kind: .beacon)) == expected)
    }

    @Test func `A command's result without consent reports its state only`() throws {
        let result = WireCommandResult.with {
            $0.commandID = Data(repeating: 1, count: 16)
            $0.state = .done
            $0.progress = 10_000
            $0.detail = "logs of anna"
            $0.deviceInformation.identity.hostName = "annas-laptop"
        }
        let reduced = try WireCommandResult.decode(StatusReduction.reduced(result.encoded, kind: .commandResult))
        #expect(
            reduced
                == WireCommandResult.with {
                    $0.commandID = result.commandID
                    $0.state = .done
                    $0.progress = 10_000
                })
    }

    @Test func `What is neither a status record nor a message is reduced to nothing`() {
        #expect(StatusReduction.reduced(Data([1, 2, 3]), kind: .sampleSystem).isEmpty)
        #expect(StatusReduction.reduced(Data([0xFF]), kind: .beacon).isEmpty)
    }
}
