import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import Registry

@Suite("Notices of silent devices", .eachRegistry) struct SilenceWatchTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let bootClock: ManualBootClock
    private let metadata: MetadataService
    private let token: String
    private let service: NoticeService

    init() throws {
        directory = try TemporaryDirectory()
        bootClock = ManualBootClock(clock)
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        self.metadata = metadata
        token = try #require(created).enrollmentToken
        service = try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
    }

    private func devices(_ count: Int, token: String? = nil, test: Bool = false) async throws -> [DeviceID] {
        var request = WireEnrollRequest()
        request.test = test
        var devices: [DeviceID] = []
        for _ in 0..<count {
            devices.append(try await metadata.enroll(token: token ?? self.token, request: request).deviceID)
        }
        hear(devices)
        return devices
    }

    private func hear(_ devices: [DeviceID]) {
        for device in devices {
            metadata.seen(device, DeviceObservation(at: clock.now(), beacon: WireBeacon(), expectedBeaconSeconds: 60))
        }
    }

    private func watch() -> SilenceWatch {
        SilenceWatch(metadata: metadata, notices: service, clock: clock, bootClock: bootClock, logger: quietLogger) {
            true
        }
    }

    /// An hour and a minute, in which these devices speak.
    private func settle(_ watch: SilenceWatch, hearing devices: [DeviceID] = []) async {
        for _ in 0...61 {
            clock.advance(seconds: 60)
            hear(devices)
            await watch.look()
        }
    }

    private func notices(_ organization: String? = nil) async throws -> [NoticeRow] {
        let archive = try LogArchive.open(directory, clock: clock)
        let rows = try await NoticeService(metadata: archive.metadata).page(
            organization: organization, below: nil, limit: 1000
        ).rows
        await archive.close()
        return rows
    }

    @Test func `A device that goes silent is reported once, and its return ends it`() async throws {
        let (living, dead) = (try await devices(2), try await devices(1))
        _ = try await devices(1, test: true)
        let watch = watch()
        await settle(watch, hearing: living)
        await settle(watch, hearing: living)
        let reported = try await notices()
        #expect(
            reported.map(\.code) == [.deviceSilent] && reported[0].subject == dead[0].description
                && reported[0].organization == "default")
        #expect(
            reported[0].count == 1 && reported[0].ended == nil && reported[0].detail.contains("expected every 60 s"))
        hear(dead)
        await watch.look()
        #expect(try await notices().map(\.ended) == [clock.now()])
        // Again within a day: the same notice goes on, so nobody is posted a second one.
        await settle(watch, hearing: living)
        let again = try await notices()
        #expect(again.map(\.id) == reported.map(\.id) && again[0].count == 2 && again[0].ended == nil)
        _ = try await metadata.revokeDevice(dead[0], organization: nil, by: .commandLine)
        await watch.look()
        #expect(try await notices().allSatisfy { $0.ended != nil }, "nobody waits for it any more")
        await metadata.close()
    }

    @Test func `The time at which notices begin is shown until then`() async throws {
        let watch = watch()
        #expect(metadata.silenceNoticesFrom == nil, "nobody watches yet")
        let start = clock.now()
        await watch.look()
        #expect(metadata.silenceNoticesFrom == start + Listening.settleMicroseconds)
        await settle(watch)
        #expect(metadata.silenceNoticesFrom == nil)
        await metadata.close()
    }

    @Test func `A herd is one notice of its organization`() async throws {
        try await metadata.createOrganization("west")
        let west = try await metadata.createEnrollmentToken(organization: "west").token
        let many = try await metadata.createEnrollmentToken(organization: "default", maximumUses: 300).token
        let herd = try await devices(300, token: many)
        let one = try await devices(1, token: west)
        let watch = watch()
        await settle(watch)
        let reported = try await notices("default")
        #expect(reported.map(\.code) == [.devicesSilent] && reported[0].detail.hasPrefix("Also silent: 300 devices."))
        #expect(try await notices("west").map(\.subject) == [one[0].description])
        await settle(watch, hearing: Array(herd.dropFirst(5)))
        let after = try await notices("default")
        #expect(after.count == 6 && after.filter { $0.code == .devicesSilent }.allSatisfy { $0.ended != nil })
        #expect(Set(after.filter { $0.code == .deviceSilent }.map(\.subject)) == Set(herd.prefix(5).map(\.description)))
        await metadata.close()
    }

    @Test func `A collector that was off reports nobody who comes back, and a restart doubles nothing`() async throws {
        let (living, dead) = (try await devices(30), try await devices(2))
        let first = watch()
        await settle(first, hearing: living)
        #expect(try await notices().count == 2)
        // Off for two days: for the metadata all of them have been silent since.
        clock.advance(days: 2)
        let second = watch()
        await second.look()
        #expect(try await metadata.silentDevices().count == 32)
        await settle(second, hearing: living)
        let reported = try await notices()
        #expect(
            Set(reported.map(\.subject)) == Set(dead.map(\.description))
                && reported.allSatisfy { $0.count == 1 && $0.ended == nil })
        await metadata.close()
    }
}
