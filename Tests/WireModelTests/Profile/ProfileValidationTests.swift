import Foundation
import SwiftProtobuf
import Testing
import WireModel

@Suite struct ProfileValidationTests {
    private func message(_ change: (inout WireProfile) -> Void) -> String? {
        var profile = WireProfile()
        change(&profile)
        do throws(WireError) {
            try profile.validate()
            return nil
        } catch {
            #expect(error.code == .invalidField)
            return error.message
        }
    }

    private func sampling(_ change: (inout WireSamplingProfile) -> Void) -> String? { message { change(&$0.sampling) } }

    private func rule(_ change: (inout WireComplianceRule) -> Void) -> String? {
        message {
            var rule = WireComplianceRule()
            rule.id = "os"
            rule.subject = "operating-system-version"
            rule.operator = ">="
            rule.version = "12"
            change(&rule)
            $0.compliance = [rule]
        }
    }

    private func fence(_ latitude: Double, _ longitude: Double, _ radius: Double) -> String? {
        message {
            var fence = WireGeofence()
            (fence.id, fence.latitude, fence.longitude, fence.radiusMeters) = ("office", latitude, longitude, radius)
            $0.geofences = [fence]
        }
    }

    @Test func `Nothing decided, and everything at its edges, are good`() throws {
        try WireProfile().validate()
        var profile = WireProfile()
        profile.sampling.modules = ["system", "analytics", "networkData", "networkAdapter", "wlan2", "gps", "custom"]
        profile.sampling.modulesGiven = true
        profile.sampling.sampleSeconds = 1
        profile.sampling.transmitSeconds = 86_400
        profile.analytics.holdSeconds = 259_200
        profile.beaconSeconds = 60
        profile.logging.scrubPatterns = [#"\b\d{4}-?\d{4}\b"#, "(?:secret|token)=[^&]+?"]
        profile.logging.scrubValues = ["x"]
        profile.privacy = ["ssid": .send, "user": .hash, "position": .coarsen, "mac": .drop]
        profile.offlineTimeAllowedSeconds = 0
        profile.privacyKey = Data(repeating: 7, count: 32)
        profile.certificatePins = [Data(repeating: 7, count: 32)]
        profile.certificateAuthorities = Array(repeating: Data(count: 8192), count: 8)
        profile.budgets.cpuShare = 100
        try profile.validate()
        #expect(fence(-90, 180, 1) == nil && rule { $0.version = "6.1.0-18+deb12u1" } == nil)
    }

    @Test(arguments: [0, 0.999, -1, 86_400.5, .nan, .infinity, -.infinity] as [Double])
    func `An interval outside its range is refused with field, value and range`(seconds: Double) throws {
        let found = try #require(sampling { $0.sampleSeconds = seconds })
        #expect(found == "sampling.sampleSeconds is \(seconds); expected 1.0 to 86400.0 seconds.")
        #expect(sampling { $0.transmitSeconds = seconds }?.hasPrefix("sampling.transmitSeconds is") == true)
        let override = sampling {
            var override = WireModuleIntervals()
            override.module = "system"
            override.transmitSeconds = seconds
            $0.overrides = [override]
        }
        #expect(override?.hasPrefix("sampling.overrides[0].transmitSeconds is") == true)
    }

    @Test func `Unknown, reserved and repeated modules are refused`() {
        func named(_ names: [String]) -> String? {
            sampling {
                $0.modules = names
                $0.modulesGiven = true
            }
        }
        #expect(
            named(["system", "sytem"])?.hasPrefix("sampling.modules[1] is \"sytem\"; expected one of system") == true)
        #expect(named(["callLog"])?.contains("reserved") == true)
        #expect(named(["1"]) != nil)
        #expect(named(["system", "system"]) != nil)
        #expect(named([]) == nil)
        #expect(sampling { $0.modules = ["system"] } != nil)
    }

    @Test func `Seconds, shares and sizes have bounds`() {
        #expect(message { $0.beaconSeconds = 59 } == "beaconSeconds is 59; expected 60 to 86400 seconds.")
        #expect(message { $0.beaconSeconds = 86_401 } != nil)
        #expect(message { $0.analytics.holdSeconds = 259_201 }?.hasPrefix("analytics.holdSeconds") == true)
        #expect(message { $0.offlineTimeAllowedSeconds = 40_000_000 } != nil)
        for grid in [0, 0.00001, 10.5, -1, .infinity, .nan] {
            #expect(message { $0.positionGridDegrees = grid }?.hasPrefix("positionGridDegrees") == true)
        }
        for grid in [0.0001, 0.01, 10] { #expect(message { $0.positionGridDegrees = grid } == nil) }
        #expect(message { $0.privacyKey = Data([1]) } != nil)
        #expect(message { $0.certificatePins = [Data(count: 31)] }?.hasPrefix("certificatePins[0]") == true)
        #expect(message { $0.certificateAuthorities = [Data()] }?.hasPrefix("certificateAuthorities[0]") == true)
        #expect(
            message { $0.certificateAuthorities = [Data([1]), Data(count: 8193)] }?.contains("[1] has 8193") == true)
        #expect(message { $0.certificateAuthorities = Array(repeating: Data([1]), count: 9) } != nil)
        #expect(message { $0.customPayload = String(repeating: "x", count: 262_145) } != nil)
        #expect(message { $0.organization = String(repeating: "x", count: 256) } != nil)
        #expect(message { $0.logging.level = .UNRECOGNIZED(9) } != nil)
        #expect(message { $0.logging.scrubValues = [""] } != nil)
        #expect(message { $0.logging.scrubValues = Array(repeating: "a", count: 257) } != nil)
        #expect(message { $0.budgets.cpuShare = 10_000_001 } != nil)
    }

    @Test func `A bad scrub pattern is named with its place`() {
        let found = message { $0.logging.scrubPatterns = ["a", "b(c"] }
        #expect(found?.hasPrefix("logging.scrubPatterns[1] \"(\" is not closed at character 2") == true)
    }

    @Test func `Privacy names known classes and actions`() {
        #expect(
            message { $0.privacy = ["shoe-size": .drop] }?.hasPrefix("privacy names the class \"shoe-size\"") == true)
        #expect(message { $0.privacy = ["ssid": .unspecified] } != nil)
        #expect(message { $0.privacy = ["ssid": .UNRECOGNIZED(9)] } != nil)
    }

    @Test func `Transmission rules name known data, networks and batteries`() {
        func transmission(_ change: (inout WireTransmissionRule) -> Void) -> String? {
            message {
                var rule = WireTransmissionRule()
                rule.data = "sample"
                change(&rule)
                $0.transmission = [rule]
            }
        }
        #expect(transmission { $0.minimumBattery = 10_000 } == nil)
        #expect(
            transmission { $0.minimumBattery = 10_001 }?.hasPrefix("transmission[0].minimumBattery is 10001") == true)
        #expect(transmission { $0.data = "samples" } != nil)
        #expect(transmission { $0.ssids = ["Café", String(repeating: "s", count: 32)] } == nil)
        #expect(transmission { $0.ssids = ["a", ""] }?.hasPrefix("transmission[0].ssids[1] has 0 bytes") == true)
        #expect(transmission { $0.ssids = [String(repeating: "é", count: 17)] } != nil)
        #expect(transmission { $0.ssids = Array(repeating: "a", count: 65) } != nil)
        #expect(
            transmission { $0.networks = [.wifi, .UNRECOGNIZED(40)] }?.hasPrefix("transmission[0].networks[1]") == true)
    }

    @Test(arguments: ["", "v12", "12 ", ">=12", String(repeating: "1", count: 65), "1\u{0}"])
    func `A version that is none is refused`(version: String) {
        #expect(rule { $0.version = version }?.hasPrefix("compliance[0].version is") == true)
    }

    @Test(arguments: ["", "==", "=>", "≥"])
    func `An operator that is none is refused`(name: String) {
        #expect(rule { $0.operator = name }?.hasPrefix("compliance[0].operator is") == true)
    }

    @Test func `Compliance rules have a subject and an ID of their own`() {
        #expect(rule { $0.subject = "kernel" } != nil)
        #expect(rule { $0.id = "" } != nil)
        #expect(
            message {
                var rule = WireComplianceRule()
                (rule.id, rule.subject, rule.operator, rule.version) = ("a", "application-version", "=", "1")
                $0.compliance = [rule, rule]
            }?.hasPrefix("compliance[1].id") == true)
    }

    @Test(
        arguments: [
            (90.1, 0, 5), (-91, 0, 5), (0, 180.5, 5), (0, -181, 5), (0, 0, 0), (0, 0, 3e7), (.nan, 0, 5),
            (0, .infinity, 5), (0, 0, .nan),
        ] as [(Double, Double, Double)])
    func `Coordinates and radii have ranges`(latitude: Double, longitude: Double, radius: Double) {
        #expect(fence(latitude, longitude, radius)?.hasPrefix("geofences[0].") == true)
    }

    @Test func `A geofence is a circle or a polygon`() {
        func polygon(_ count: Int, _ change: (inout WireGeofence) -> Void = { _ in }) -> String? {
            message {
                var fence = WireGeofence()
                fence.id = "yard"
                fence.corners = (0..<count).map { number in
                    .with { ($0.latitude, $0.longitude) = (number == 0 ? 1 : 0, Double(number) / 100) }
                }
                change(&fence)
                $0.geofences = [fence]
            }
        }
        #expect(polygon(3) == nil && polygon(3) { $0.name = "Yard" } == nil)
        #expect(polygon(2) == "geofences[0].corners has 2 entries; expected 3 to 100.")
        #expect(polygon(101)?.contains("101 entries") == true)
        for change in [{ $0.latitude = 1 }, { $0.longitude = 1 }, { $0.radiusMeters = 1 }]
            as [(inout WireGeofence) -> Void]
        {
            #expect(polygon(3, change)?.contains("expected a circle or a polygon") == true)
        }
        #expect(
            polygon(3) { $0.corners[1].latitude = .nan }?.hasPrefix("geofences[0].corners[1].latitude is nan") == true)
        #expect(
            polygon(3) { $0.corners[2].longitude = 180.1 }?.hasPrefix("geofences[0].corners[2].longitude is") == true)
        #expect(polygon(3) { $0.corners[2] = $0.corners[1] }?.contains("corners[2] is where corners[1] is") == true)
        #expect(polygon(3) { $0.name = String(repeating: "x", count: 256) }?.hasPrefix("geofences[0].name") == true)
        #expect(
            message {
                let fence = WireGeofence.with { ($0.id, $0.radiusMeters) = ("a", 1) }
                $0.geofences = [fence, fence]
            }?.contains("one geofence per id") == true)
    }

    @Test func `A rule on the location names a geofence of the same profile`() throws {
        func location(_ change: (inout WireComplianceRule) -> Void = { _ in }) -> WireProfile {
            var profile = WireProfile()
            var rule = WireComplianceRule()
            (rule.id, rule.subject, rule.operator, rule.geofence) = ("here", "location", "inside", "yard")
            change(&rule)
            profile.compliance = [rule]
            profile.geofences = [.with { ($0.id, $0.radiusMeters) = ("yard", 100) }]
            return profile
        }
        func fault(_ change: (inout WireComplianceRule) -> Void) -> String? {
            message { $0 = location(change) }
        }
        try location().validate()
        try location { $0.operator = "outside" }.validate()
        #expect(fault { $0.geofence = "" }?.hasPrefix("compliance[0].geofence has 0 bytes") == true)
        #expect(
            fault { $0.geofence = "Yard" }
                == "compliance[0].geofence is \"Yard\"; expected the id of one of the profile's geofences.")
        #expect(fault { $0.operator = ">=" }?.hasPrefix("compliance[0].operator is \">=\"") == true)
        #expect(fault { $0.operator = "unknown" } != nil && fault { $0.version = "1" } != nil)
        #expect(rule { $0.geofence = "yard" }?.hasPrefix("compliance[0].geofence is given") == true)
        #expect(rule { $0.operator = "inside" }?.hasPrefix("compliance[0].operator is \"inside\"") == true)
        // An application's profile may name a geofence of its organization's.
        try location { $0.geofence = "elsewhere" }.validate(isOverlay: true)
    }

    @Test(arguments: ["report", "block", "wipe", ""]) func `Consequences are of three kinds or not given`(name: String)
    {
        #expect(rule { $0.consequence = name } == nil && message { $0.detection.consequence = name } == nil)
        let wrong = "\(name)x"
        #expect(rule { $0.consequence = wrong }?.hasPrefix("compliance[0].consequence is") == true)
        #expect(message { $0.detection.consequence = wrong }?.hasPrefix("detection.consequence is") == true)
        #expect(rule { $0.action = wrong } == nil, "a text for people")
    }

    @Test func `Lists of detection are bounded`() {
        #expect(
            message {
                $0.detection.detectorsGiven = true
                $0.detection.detectors = ["tracer-attached", "of-a-later-version"]
                $0.detection.systemPaths = ["/etc"]
                $0.detection.kernelModules = Array(repeating: "ext4", count: 512)
                $0.detection.unsignedKernelModules = ["nvidia"]
            } == nil)
        #expect(message { $0.detection.detectors = ["a"] }?.contains("detectorsGiven") == true)
        #expect(message { $0.detection.systemPaths = ["etc"] }?.contains("an absolute path") == true)
        #expect(message { $0.detection.systemPaths = Array(repeating: "/", count: 513) }?.contains("513") == true)
        #expect(message { $0.detection.kernelModules = [""] }?.hasPrefix("detection.kernelModules[0]") == true)
        #expect(message { $0.detection.unsignedKernelModules = [""] } != nil)
    }

    @Test func `Settings of a later version are noticed wherever they are`() throws {
        // Field 900 with the number 1.
        let later = Data([0xA0, 0x38, 1])
        func withLater<Part: Message>(_ part: Part) throws -> Part { try Part(serializedBytes: part.encoded + later) }
        #expect(!WireProfile().hasUnknownFields)
        #expect(try withLater(WireProfile()).hasUnknownFields)
        var profiles = Array(repeating: WireProfile(), count: 10)
        profiles[0].sampling = try withLater(WireSamplingProfile())
        profiles[1].sampling.overrides = [try withLater(WireModuleIntervals())]
        profiles[2].analytics = try withLater(WireAnalyticsProfile())
        profiles[3].logging = try withLater(WireLoggingProfile())
        profiles[4].transmission = [try withLater(WireTransmissionRule())]
        profiles[5].compliance = [WireComplianceRule(), try withLater(WireComplianceRule())]
        profiles[6].geofences = [try withLater(WireGeofence())]
        profiles[7].budgets = try withLater(WireBudgetProfile())
        profiles[8].detection = try withLater(WireDetectionProfile())
        profiles[9].geofences = [.with { $0.corners = [WireGeoPoint()] }]
        profiles[9].geofences[0].corners.append(try withLater(WireGeoPoint()))
        for profile in profiles {
            #expect(try WireProfile.decode(profile.encoded).hasUnknownFields, "\(profile)")
        }
    }
}
