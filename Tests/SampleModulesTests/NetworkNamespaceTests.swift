import Foundation
import TestKit
import Testing
import WireModel

@testable import SampleModules

/// What our decoders read of a live kernel is what `ip` (iproute2) reads: in a network namespace made for it, with
/// interfaces of several kinds.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: NetworkNamespace.isAvailable, "needs root, network namespaces and iproute2; Tools/test installs it"))
struct NetworkNamespaceTests {
    @Test func `Every interface, address and counter is the one that ip reports`() async throws {
        let namespace = try await NetworkNamespace()
        do {
            // A namespace is a process's: the test binary starts itself in it, and what runs there is
            // `InsideNamespace`.
            let run = try await namespace.run(
                [CommandLine.arguments[0], "--testing-library", "swift-testing", "--filter", "InsideNamespace"],
                environment: [NetworkNamespace.variable: namespace.name])
            #expect(run.status == 0, "\(run.text)")
            #expect(run.text.contains("Test run with 1 test in 1 suite passed"), "\(run.text)")
        }
        try await namespace.remove()
    }
}

/// What runs in the namespace.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[NetworkNamespace.variable] != nil))
struct InsideNamespace {
    private struct Link: Decodable {
        struct Stats: Decodable {
            struct Direction: Decodable {
                var bytes, packets, errors, dropped: UInt64
            }

            var rx, tx: Direction
        }

        struct Info: Decodable { var info_kind: String? }

        struct Address: Decodable {
            var local: String
            var prefixlen: UInt32
            var scope: String
        }

        var ifindex: UInt32
        var ifname: String
        var mtu: UInt32
        var operstate: String
        var link_type: String
        var address: String
        var linkinfo: Info?
        var stats64: Stats
        var addr_info: [Address]?
    }

    private struct Route: Decodable {
        var dst: String
        var gateway: String?
    }

    private func reported<Value: Decodable>(_ arguments: [String], as type: Value.Type) async throws -> Value {
        try JSONDecoder().decode(type, from: try await NetworkNamespace.output(["ip", "-j"] + arguments).output)
    }

    @Test func `We read what ip reads`() async throws {
        let host = LinuxHostSource()
        let log = RecordedLog()
        var adapters = NetworkAdapterModule(host: host, logger: log.logger())
        var data = NetworkDataModule(host: host, logger: log.logger())

        let first = data.read(at: host.now())
        let links = try await reported(["-s", "-d", "addr"], as: [Link].self)
        let routes =
            try await reported(["route"], as: [Route].self) + (try await reported(["-6", "route"], as: [Route].self))
        let read = adapters.read(at: host.now())
        let last = data.read(at: host.now())
        let (before, sample, after) = (try #require(first), try #require(read), try #require(last))

        #expect(
            links.count >= 4 && sample.adapters.map(\.name) == links.sorted { $0.ifindex < $1.ifindex }.map(\.ifname))
        for link in links {
            let adapter = try #require(sample.adapters.first { $0.name == link.ifname })
            #expect(adapter.index == link.ifindex && adapter.mtu == link.mtu, "\(link.ifname)")
            #expect(adapter.operationalState == link.operstate.lowercased(), "\(link.ifname)")
            #expect(adapter.mac == (link.link_type == "ether" ? link.address : ""), "\(link.ifname)")
            if let kind = link.linkinfo?.info_kind { #expect(adapter.driver == kind, "\(link.ifname)") }
            let addresses = adapter.addresses.map { "\($0.address)/\($0.prefixLength) \($0.scope)" }
            #expect(
                addresses.sorted() == (link.addr_info ?? []).map { "\($0.local)/\($0.prefixlen) \($0.scope)" }.sorted(),
                "\(link.ifname)")

            // The kernel may send something of its own at any time: what `ip` reported lies between two readings of
            // ours.
            guard let first = before.interfaces.first(where: { $0.name == link.ifname })?.total,
                let last = after.interfaces.first(where: { $0.name == link.ifname })?.total
            else {
                // What has never moved anything is left out, and so is the loopback.
                let moved = link.stats64.rx.packets + link.stats64.tx.packets
                #expect(link.ifname == "lo" || moved == 0, "\(link.ifname) has no counters")
                continue
            }
            let figures: [(String, UInt64, UInt64, UInt64)] = [
                ("received bytes", first.receivedBytes, link.stats64.rx.bytes, last.receivedBytes),
                ("sent bytes", first.sentBytes, link.stats64.tx.bytes, last.sentBytes),
                ("received packets", first.receivedPackets, link.stats64.rx.packets, last.receivedPackets),
                ("sent packets", first.sentPackets, link.stats64.tx.packets, last.sentPackets),
                ("received errors", first.receivedErrors, link.stats64.rx.errors, last.receivedErrors),
                ("sent errors", first.sentErrors, link.stats64.tx.errors, last.sentErrors),
                ("received drops", first.receivedDrops, link.stats64.rx.dropped, last.receivedDrops),
                ("sent drops", first.sentDrops, link.stats64.tx.dropped, last.sentDrops),
            ]
            for (name, first, reported, last) in figures {
                #expect(first <= reported && reported <= last, "\(link.ifname): \(name) \(first) \(reported) \(last)")
            }
        }
        let sent = try #require(after.interfaces.first { $0.name == "near" }).total.sentBytes
        #expect(sent > 1000, "traffic was made")
        let gateways = routes.filter { $0.dst == "default" }.compactMap(\.gateway)
        #expect(gateways.count == 2 && sample.defaultGateways == gateways)
    }
}

/// A network namespace with a pair of virtual interfaces, one of them with addresses, routes and traffic, a bridge, and
/// one that is down.
struct NetworkNamespace {
    static let variable = "WS1_TEST_NAMESPACE"

    struct Output {
        var status: Int32
        var output: Data
        var text: String { String(decoding: output, as: UTF8.self) }
    }

    let name = "ws1-test-\(UUID().uuidString.prefix(8).lowercased())"

    static let isAvailable: Bool = {
        guard geteuid() == 0,
            FileManager.default.isExecutableFile(atPath: "/usr/sbin/ip")
                || FileManager.default.isExecutableFile(atPath: "/sbin/ip")
        else { return false }
        let probe = "ws1-probe-\(getpid())"
        let works = { (arguments: [String]) in (try? call(["ip"] + arguments, [:]))?.status == 0 }
        defer { _ = works(["netns", "del", probe]) }
        return works(["netns", "add", probe])
            && works(["-n", probe, "link", "add", "near", "type", "veth", "peer", "name", "far"])
    }()

    init() async throws {
        let script = """
            set -e
            ip netns add $N
            ip -n $N link set lo up
            ip -n $N link add near address 02:00:00:00:00:05 mtu 1400 type veth peer name far
            ip -n $N link add idle type veth peer name unused
            ip -n $N link add bridge type bridge
            ip -n $N link set near up
            ip -n $N link set far up
            ip -n $N addr add 10.9.8.7/24 dev near
            ip -n $N addr add 10.9.8.8/32 dev near scope link
            ip -n $N addr add 2001:db8::5/64 dev near nodad
            ip -n $N route add default via 10.9.8.1 dev near
            ip -n $N -6 route add default via 2001:db8::1 dev near
            ip -n $N neigh add 10.9.8.1 lladdr 02:00:00:00:00:09 dev near
            ip netns exec $N bash -c 'for i in {1..20}; do printf "%100d" 1 >/dev/udp/10.9.8.1/9; done'
            """
        let made = try await Self.output(["bash", "-c", script], environment: ["N": name])
        guard made.status == 0 else {
            try await remove()
            throw CocoaError(.featureUnsupported, userInfo: ["output": made.text])
        }
    }

    func remove() async throws { _ = try await Self.output(["ip", "netns", "del", name]) }

    func run(_ command: [String], environment: [String: String]) async throws -> Output {
        try await Self.output(["ip", "netns", "exec", name] + command, environment: environment)
    }

    static func output(_ command: [String], environment: [String: String] = [:]) async throws -> Output {
        try await BlockingCall.run { try call(command, environment) }
    }

    private static func call(_ command: [String], _ environment: [String: String]) throws -> Output {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let path = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        process.environment = ProcessInfo.processInfo.environment.merging(path) { $1 }.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Output(status: process.terminationStatus, output: output)
    }
}
