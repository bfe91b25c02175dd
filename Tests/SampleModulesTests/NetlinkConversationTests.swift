import DeviceTestKit
import Testing

@testable import SampleModules

@Suite("Netlink exchanges")
struct NetlinkConversationTests {
    private static func step(_ datagram: [UInt8], sequence: UInt32 = 7, port: UInt32 = 4_242) -> String {
        var conversation = NetlinkConversation(sequence: sequence, port: port)
        let step = datagram.withUnsafeBytes { conversation.received($0) }
        return "\(step)\(conversation.isInterrupted ? ", interrupted" : "")"
    }

    private static func end(_ code: Int32, type: UInt16 = 3) -> [UInt8] {
        CapturedNetwork.message(type, withUnsafeBytes(of: code) { Array($0) })
    }

    @Test
    func `an answer goes on until its end, wherever that comes`() {
        #expect(Self.step(CapturedDatagrams.loopback[0]) == "more")
        #expect(Self.step(CapturedDatagrams.loopback[1]) == "complete", "acknowledged")
        #expect(Self.step(CapturedDatagrams.addresses[0]) == "more")
        #expect(Self.step(CapturedDatagrams.addresses[1]) == "complete")
        #expect(Self.step(CapturedDatagrams.statistics[0]) == "complete", "in the datagram of the last message")
        #expect(Self.step(CapturedDatagrams.unknownFamily[0]) == "refused(errno: 2)")
        #expect(Self.step(Self.end(-95)) == "refused(errno: 95)", "a list that ends in an error is none")
        #expect(Self.step(CapturedNetwork.message(3, [])) == "complete")
    }

    @Test
    func `what belongs to another exchange is left out`() {
        #expect(Self.step(CapturedDatagrams.addresses[0], sequence: 8) == "stray")
        #expect(Self.step(CapturedDatagrams.addresses[1], sequence: 6) == "stray")
        #expect(Self.step(CapturedDatagrams.addresses[1], port: 1) == "stray")
    }

    @Test
    func `an interrupted list says so, even though it ends well`() {
        let list = CapturedNetwork.message(16, [UInt8](repeating: 0, count: 16), flags: 0x12) + Self.end(0)
        #expect(Self.step(list) == "complete, interrupted")
    }

    @Test
    func `what the kernel does not write breaks the exchange`() {
        #expect(Self.step(CapturedNetwork.message(4, [])) == "broken", "overrun")
        #expect(Self.step(Array(CapturedDatagrams.loopback[0].dropLast(4))) == "broken")
        #expect(Self.step(CapturedNetwork.message(2, [1, 2])) == "broken")
        #expect(Self.step(Self.end(5, type: 2)) == "broken", "a positive error")
        #expect(Self.step(Self.end(.min, type: 2)) == "broken")
    }

    @Test
    func `no byte and no bit of a datagram crashes it, and none makes an end of what is none`() {
        for datagram in CapturedDatagrams.all.joined() {
            let bytes = Array(datagram.prefix(600))
            for count in bytes.indices { _ = Self.step(Array(bytes[..<count])) }
            for position in bytes.indices {
                for bit in 0..<8 {
                    var flipped = bytes
                    flipped[position] ^= 1 << UInt8(bit)
                    _ = Self.step(flipped)
                }
            }
        }
    }

    @Test
    func `a request is the kernel's header and the payload`() {
        let bytes = LinkMessage.one(4).message(sequence: 0x0102_0304, port: 9)
        #expect(bytes.count == 16 + 16 + 8)
        bytes.withUnsafeBytes { bytes in
            #expect(bytes.number(at: 0, as: UInt32.self) == 40 && bytes.number(at: 4, as: UInt16.self) == 18)
            #expect(bytes.number(at: 6, as: UInt16.self) == 5, "NLM_F_REQUEST | NLM_F_ACK")
            #expect(bytes.number(at: 8, as: UInt32.self) == 0x0102_0304 && bytes.number(at: 12, as: UInt32.self) == 9)
            #expect(bytes.number(at: 20, as: UInt32.self) == 4)
        }
        #expect(
            Array(LinkMessage.all.message(sequence: 1, port: 1)[6...7]) == [0x01, 0x03], "NLM_F_REQUEST | NLM_F_DUMP")
    }

    // MARK: - This machine's kernel

    private static func links(_ host: some HostSource, _ request: NetlinkRequest) -> (FileOutcome, [LinkMessage]) {
        var buffer = FileBuffer(capacity: 64)
        let outcome = host.exchange(request, into: &buffer, maximumBytes: 1 << 20)
        return (outcome, buffer.withBytes { NetlinkMessages($0).compactMap { LinkMessage($0) } })
    }

    @Test
    func `this machine's kernel answers, again and again through one socket`() {
        let host = LinuxHostSource()
        for _ in 0..<200 {
            let (outcome, links) = Self.links(host, LinkMessage.all)
            #expect(
                outcome == .complete
                    && links.contains { $0.name == "lo" && $0.hardwareType == 772 && $0.statistics != nil })
        }
        let (outcome, links) = Self.links(host, LinkMessage.one(1))
        #expect(outcome == .complete && links.map(\.index) == [1])
        var buffer = FileBuffer()
        #expect(
            host.exchange(GenericNetlink.family(named: "nlctrl"), into: &buffer, maximumBytes: 1 << 16) == .complete)
        #expect(buffer.withBytes { GenericNetlink.familyNumber(NetlinkMessages($0)) } == 16)
    }

    @Test
    func `what this machine's kernel refuses is told, and the next exchange works`() {
        let host = LinuxHostSource()
        #expect(Self.links(host, LinkMessage.one(0x7fff_fff0)).0 == .absent)
        let bad = NetlinkRequest(family: .route, type: 18, isDump: false, payload: [1])
        guard case .failed = Self.links(host, bad).0 else {
            Issue.record("a request of one byte was answered")
            return
        }
        #expect(Self.links(host, LinkMessage.all).0 == .complete)
    }

    @Test
    func `an answer beyond the bound is cut at whole messages, and the next one is whole`() {
        let host = LinuxHostSource()
        var buffer = FileBuffer()
        // Newer kernels put the end of a short list into the datagram before it: then nothing is cut.
        #expect([.truncated, .complete].contains(host.exchange(AddressMessage.all, into: &buffer, maximumBytes: 16)))
        #expect(buffer.withBytes { NetlinkMessages($0).compactMap { AddressMessage($0) } }.isEmpty == false)
        #expect(host.exchange(AddressMessage.all, into: &buffer, maximumBytes: 1 << 20) == .complete)
        #expect(
            buffer.withBytes { NetlinkMessages($0).compactMap { AddressMessage($0) } }.contains {
                $0.address.text == "127.0.0.1"
            })
    }

    @Test
    func `many threads share a source`() async {
        let host = LinuxHostSource()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<50).allSatisfy { _ in Self.links(host, LinkMessage.one(1)).1.map(\.index) == [1] }
                }
            }
            for await right in group { #expect(right) }
        }
    }
}
