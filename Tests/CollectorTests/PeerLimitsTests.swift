import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import WireModel

@testable import Collector

@Suite("Failed attempts and the lines they take")
struct PeerLimitsTests {
    /// Devices and people behind one NAT or proxy have one address with whoever tries wrong credentials there.
    @Test func `Wrong credentials are limited, and right ones of the same address served`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.live { client in
            // A minute's worth at once, and then one a second, however long the attempts last.
            var attempts = 0
            var isHeldOff = false
            while !isHeldOff, attempts < 10_000 {
                let path = attempts % 2 == 0 ? "/api/v1/devices" : WireNames.commandsPath
                let refused = try await client.send(.get, path, bearer: "guess-\(attempts)")
                attempts += 1
                isHeldOff = refused.status == .tooManyRequests
                #expect(isHeldOff || refused.status == .unauthorized)
                guard isHeldOff else { continue }
                #expect(refused.headers[.retryAfter] == "1")
                #expect(try refused.problem.code == "too-many-failed-attempts")
            }
            #expect(isHeldOff && attempts > 61, "after \(attempts)")
            #expect(try await client.send(.get, "/api/v1/devices", bearer: "viewer-default").status == .ok)
            #expect(try await client.send(.get, WireNames.commandsPath, bearer: device.credential).status == .ok)
            // Who shows none has not tried: that is how a program finds out that it needs one.
            #expect(try await client.send(.get, "/api/v1/devices", bearer: nil).status == .unauthorized)
        }
    }

    @Test func `An address may fail again once a second, and others are not held off`() {
        let limits = PeerLimits()
        let second: Int64 = 1_000_000
        for _ in 0..<61 { #expect(limits.failed("192.0.2.1", at: 0) == nil) }
        #expect(limits.failed("192.0.2.1", at: 0) == second)
        #expect(limits.failed("192.0.2.2", at: 0) == nil)
        #expect(limits.failed("192.0.2.1", at: second) == nil)
        #expect(limits.failed("192.0.2.1", at: second) == second)
        #expect(limits.failed(nil, at: 0) == nil)
    }

    @Test func `Lines are bounded for each address and for all, and report what they leave out`() {
        let limits = PeerLimits()
        let lines = (0..<1000).compactMap { _ in limits.line("192.0.2.1", at: 0) }
        #expect(lines == Array(repeating: 0, count: 61))
        #expect(limits.line("192.0.2.2", at: 0) == 939)
        #expect(limits.line("192.0.2.2", at: 0) == 0)
        // Many addresses, a line each.
        let all = (0..<10_000).compactMap { limits.line("192.0.2.1\($0)", at: 0) }
        #expect((500..<700).contains(all.count), "\(all.count)")
    }

    @Test func `A refused certificate has a line a minute for its device and reports what it leaves out`() {
        let limits = PeerLimits()
        let device = DeviceID.random()
        let minute: Int64 = 60_000_000
        #expect(limits.certificateLine(device, at: 0) == 0)
        for _ in 1...9 { #expect(limits.certificateLine(device, at: minute - 1) == nil) }
        #expect(limits.certificateLine(.random(), at: minute - 1) == 9)
        #expect(limits.certificateLine(device, at: minute) == 0)
        // Many devices at once, such as of a fleet without certificates.
        let all = (0..<1000).compactMap { _ in limits.certificateLine(.random(), at: minute) }
        #expect((50..<70).contains(all.count), "\(all.count)")
    }

    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"), ("::1", "0:0:0:0::/64"),
    ])
    func `A client is named by what it cannot choose freely`(address: String, name: String) throws {
        #expect(PeerLimits.name(of: try SocketAddress(ipAddress: address, port: 443)) == name)
    }
}
