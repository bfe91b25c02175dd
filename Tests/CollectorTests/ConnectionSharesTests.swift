import Foundation
import Logging
import NIOCore
import TestKit
import Testing

@testable import Collector

@Suite("Connections of one address", .timeLimit(.minutes(5)))
struct ConnectionSharesTests {
    private static func address(_ text: String) throws -> ConnectionShares.Address {
        try #require(ConnectionShares.Address(try SocketAddress(ipAddress: text, port: 1)))
    }

    private static func shares(_ connections: Int, perAddress: Int?) -> ConnectionShares {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return ConnectionShares(
            ConnectionLimits(connections: connections, connectionsPerAddress: perAddress), logger: logger)
    }

    @Test func `An address has half of the connections, and another the rest`() throws {
        let shares = Self.shares(8, perAddress: nil)
        let (greedy, other) = (try Self.address("192.0.2.1"), try Self.address("192.0.2.2"))
        #expect((0..<8).filter { _ in shares.acquire(greedy) }.count == 4)
        #expect(shares.acquire(other))
        shares.giveBack(greedy)
        #expect(shares.acquire(greedy) && !shares.acquire(greedy))
        for _ in 0..<4 { shares.giveBack(greedy) }
        shares.giveBack(other)
        #expect(shares.count == 0, "nobody is remembered without a connection")
    }

    @Test func `A network of IPv6 is one address, and a mapped IPv4 address is itself`() throws {
        #expect(try Self.address("2001:db8:1:2::1") == Self.address("2001:db8:1:2:ffff::9"))
        #expect(try Self.address("2001:db8:1:2::1") != Self.address("2001:db8:1:3::1"))
        #expect(try Self.address("::ffff:192.0.2.1") == Self.address("192.0.2.1"))
        #expect(
            try "\(Self.address("2001:db8:1:2::1"))" == "2001:db8:1:2::/64"
                && "\(Self.address("192.0.2.1"))" == "192.0.2.1")
        #expect(ConnectionShares.Address(try SocketAddress(unixDomainSocketPath: "/s")) == nil)
    }

    /// A proxy on this machine brings everybody's connections; a limit that is set holds for it too.
    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    func `This machine is limited only where that is set`(
        text: String
    ) throws {
        let address = try Self.address(text)
        let (free, set) = (Self.shares(4, perAddress: nil), Self.shares(4, perAddress: 2))
        #expect((0..<100).allSatisfy { _ in free.acquire(address) })
        #expect((0..<4).filter { _ in set.acquire(address) }.count == 2)
        #expect(try ["128.0.0.1", "::2", "::ffff:10.0.0.1"].allSatisfy { try !Self.address($0).isLoopback })
    }

    /// Half-open connections of an address that has its share of them: a further one is closed at once, and those that
    /// are there stay.
    @Test func `A connection over the share is closed at once, and a place comes back`() async throws {
        let limit = 6
        let harness = Harness { $0.connections.connectionsPerAddress = limit }
        try await harness.live { client in
            try await BlockingCall.run {
                let head = "GET /livez HTTP/1.1\r\nHost: c\r\n"
                var held: [RawConnection] = []
                // The client of this test has some of the connections; the rest are opened here, each used once and
                // then left half open.
                while true {
                    let connection = try RawConnection(port: client.port)
                    connection.send(head + "\r\n")
                    guard connection.receive(until: "alive").hasPrefix("HTTP/1.1 200") else { break }
                    connection.send(head)
                    held.append(connection)
                    try #require(held.count <= limit)
                }
                try #require(held.count >= 2)
                #expect(try RawConnection(port: client.port).receiveToEnd().text.isEmpty)
                #expect(
                    held[0].send("\r\n") && held[0].receive(until: "alive").hasPrefix("HTTP/1.1 200"),
                    "those that are there stay")
                held[0].hangUp()
                var answer = ""
                // The place comes back when the collector has seen the end of the connection.
                while !answer.hasPrefix("HTTP/1.1 200") {
                    let next = try RawConnection(port: client.port)
                    next.send(head + "Connection: close\r\n\r\n")
                    answer = next.receiveToEnd().text
                }
            }
        }
    }
}
