import Foundation
import LogArchive
import Registry
import RegistryTestKit
import StoreTestKit
import Synchronization
import TestKit
import Testing

@Suite struct CertificateWatchTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func notices() async throws -> [(subject: String, lasts: Bool, count: Int)] {
        let archive = try LogArchive.open(directory: directory.path, clock: clock, logger: quietLogger)
        let page = try await NoticeService(metadata: archive.metadata).page(organization: nil, below: nil, limit: 100)
        await archive.close()
        return page.rows.filter { $0.code == .certificateExpiry }.map { ($0.subject, $0.ended == nil, $0.count) }
    }

    /// Days that are left, and which notices last then.
    private static let days: [(left: Double, lasting: [String])] = [
        (31, []), (30, ["30 days"]), (29, ["30 days"]), (7.01, ["30 days"]), (7, ["7 days"]), (1, ["7 days"]),
        (-1, ["7 days"]),
    ]

    @Test func `Each threshold is reported once, also over restarts`() async throws {
        let expires = clock.now() + 40 * 86_400 * 1_000_000
        let service = try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
        let served = Mutex(WatchedCertificate(name: "tls-certificate /a", serial: "01", expires: expires))
        func look(at now: Int64) async {
            // Each time anew, as after a restart, and then again.
            let watch = CertificateWatch(notices: service, clock: ManualStoreClock(now)) { [served.withLock { $0 }] }
            await watch.look()
            await watch.look()
        }
        for (left, lasting) in Self.days {
            await look(at: expires - Int64(left * 86_400 * 1_000_000))
            let found = try await notices()
            #expect(
                found.filter(\.lasts).map(\.subject) == lasting.map { "tls-certificate /a, serial 01, \($0)" },
                "\(left)")
            #expect(found.allSatisfy { $0.count == 1 })
        }
        #expect(try await notices().count == 2)
        served.withLock {
            $0 = WatchedCertificate(name: $0.name, serial: "02", expires: expires + 365 * 86_400 * 1_000_000)
        }
        await look(at: expires)
        #expect(try await notices().filter(\.lasts).isEmpty)
    }

    @Test func `Certificates of devices are reported apart`() async throws {
        let service = try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
        let soon = clock.now() + 86_400 * 1_000_000
        let watch = CertificateWatch(notices: service, clock: clock) {
            [
                WatchedCertificate(name: "tls-certificate /a", serial: "01", expires: soon),
                WatchedCertificate(name: "device-ca-certificate /b", serial: "02", expires: soon),
                WatchedCertificate(name: "device-ca-certificate /b", serial: "03", expires: .max),
            ]
        }
        await watch.look()
        #expect(
            Set(try await notices().map(\.subject)) == [
                "tls-certificate /a, serial 01, 7 days", "device-ca-certificate /b, serial 02, 7 days",
            ])
    }
}
