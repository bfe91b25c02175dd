import RecordBlocks
import TestKit

/// Writes protobuf fields, canonical or not.
struct FieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func number(_ value: UInt64, padding: Int = 0) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest) | (padding > 0 ? 0x80 : 0))
        for place in 0..<padding { bytes.append(place == padding - 1 ? 0 : 0x80) }
    }

    mutating func varint(_ field: UInt64, _ value: UInt64, padding: Int = 0) {
        number(field << 3)
        number(value, padding: padding)
    }

    mutating func double(_ field: UInt64, _ value: Double) { fixed64(field, value.bitPattern) }

    mutating func fixed64(_ field: UInt64, _ value: UInt64) {
        number(field << 3 | 1)
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    mutating func float(_ field: UInt64, _ value: Float) {
        number(field << 3 | 5)
        for shift in stride(from: UInt32(0), to: 32, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> shift))
        }
    }

    mutating func bytes(_ field: UInt64, _ content: some Collection<UInt8>) {
        number(field << 3 | 2)
        number(UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    mutating func text(_ field: UInt64, _ text: String) { bytes(field, Array(text.utf8)) }

    mutating func message(_ field: UInt64, _ fill: (inout FieldWriter) -> Void) {
        var inner = FieldWriter()
        fill(&inner)
        bytes(field, inner.bytes)
    }

    mutating func raw(_ content: some Collection<UInt8>) { bytes.append(contentsOf: content) }
}

/// Records as devices make them, and records as nobody should.
enum SampleRecords {
    static let key = RecordBlock.Key(
        device: Bytes16(high: 0x1FF0_58FB_6E5B_4FBF, low: 0x8978_80A9_865A_60A6),
        epoch: Bytes16(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210), stream: 3, kind: 20,
        module: Array("system".utf8))

    static func block(_ records: [[UInt8]], first: UInt64 = 9) -> RecordBlock {
        var all = BlockRecords()
        for (place, record) in records.enumerated() {
            all.append(
                number: first + 4 * UInt64(place), receivedAt: 1_796_019_326_000_000 + Int64(place / 5) * 5_000_000,
                record)
        }
        return RecordBlock(key: key, records: all, earliest: -5, latest: 1_796_019_326_300_671)
    }

    /// A record with an envelope around a body.
    static func record(
        _ number: UInt64, time: UInt64, body: (inout FieldWriter) -> Void
    ) -> [UInt8] {
        var writer = FieldWriter()
        writer.varint(1, number)
        writer.varint(2, 20)
        writer.text(3, "system")
        writer.varint(4, time)
        writer.bytes(5, (0..<16).map { UInt8($0 * 7) })
        writer.varint(6, time - 1_796_001_111_802_809)
        writer.message(15, body)
        return writer.bytes
    }

    /// Samples of a machine: shares that add up, counters, memory in pages, cores, a temperature, a host name now
    /// and then.
    static func samples(_ count: Int, seed: UInt64) -> [[UInt8]] {
        var dice = SplitMix64(seed: seed)
        var time: UInt64 = 1_796_019_326_300_671
        var total: UInt64 = 4_734_853_203
        var memory: UInt64 = 6_000_000
        return (0..<count).map { place in
            let interval = 60_000_000 + UInt64.random(in: 0...2000, using: &dice)
            time += interval
            let moved = dice.chance(0.2) ? 0 : UInt64.random(in: 0...100_000, using: &dice)
            total += moved
            memory = memory &+ UInt64.random(in: 0...64, using: &dice) &- 32
            return record(9 + 4 * UInt64(place), time: time) { body in
                if place % 50 == 0 { body.message(1) { $0.text(1, "kiosk-\(place)") } }
                body.varint(2, (time - 1_796_001_111_802_809) / 1_000_000)
                body.varint(3, interval)
                for field: UInt64 in [4, 5, 5] {
                    body.message(field) { shares in
                        let user = UInt64.random(in: 0...4000, using: &dice)
                        let system = UInt64.random(in: 1...1000, using: &dice)
                        if user > 0 { shares.varint(1, user) }
                        shares.varint(3, system)
                        shares.varint(4, 10_000 - user - system)
                    }
                }
                body.message(9) {
                    $0.varint(1, 25_276_063_744)
                    $0.varint(2, memory * 4096)
                    $0.varint(3, 25_276_063_744 - memory * 4096)
                }
                body.double(12, Double(Int.random(in: 200...400, using: &dice)) / 10)
                body.double(13, Double.random(in: -1...1, using: &dice))
                body.float(14, Float(place) / 3)
                if moved > 0 { body.varint(15, moved) }
                body.varint(16, total)
            }
        }
    }

    /// A message of anything, as deep as `depth`. Not always canonical, not always a message.
    static func anything(_ dice: inout SplitMix64, depth: Int) -> [UInt8] {
        var writer = FieldWriter()
        var field: UInt64 = 0
        for _ in 0..<Int.random(in: 0...6, using: &dice) {
            field += UInt64.random(in: 0...3, using: &dice)
            if dice.chance(0.01) { field = 0 }
            if dice.chance(0.02) { field = UInt64.random(in: 1..<1 << 29, using: &dice) }
            switch Int.random(in: 0..<12, using: &dice) {
            case 0: writer.varint(field, dice.next())
            case 1: writer.varint(field, dice.next() >> UInt64.random(in: 0...63, using: &dice))
            case 2: writer.varint(field, 7, padding: Int.random(in: 0...4, using: &dice))
            case 3: writer.double(field, Double(Int.random(in: -1000...1000, using: &dice)) / 100)
            case 4:
                writer.fixed64(
                    field,
                    [
                        0x7FF8_0000_0000_0000 | dice.next() & 0xFFFF, 0xFFF0_0000_0000_0000, 0x8000_0000_0000_0000, 1,
                        dice.next(),
                    ].randomElement(using: &dice) ?? 0)
            case 5: writer.float(field, [0, -0.0, .nan, .infinity, 21.5].randomElement(using: &dice) ?? 0)
            case 6: writer.text(field, ["", "lo", "eth0", "192.0.2.1", "grüße"].randomElement(using: &dice) ?? "")
            case 7: writer.bytes(field, noise(Int.random(in: 0...40, using: &dice), &dice))
            case 8 where dice.chance(0.1): writer.raw([UInt8.random(in: 0...255, using: &dice)])
            case 9 where dice.chance(0.2):  // A group.
                writer.number(field << 3 | 3)
                writer.number(field << 3 | 4)
            default:
                guard depth > 0 else { continue }
                writer.bytes(field, anything(&dice, depth: depth - 1))
            }
        }
        return writer.bytes
    }

    static func noise(_ count: Int, _ dice: inout SplitMix64) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &dice) }
    }

    /// Packs, unpacks and compares.
    static func roundTrip(_ block: RecordBlock) throws -> (bytes: [UInt8], same: Bool) {
        let bytes = try block.pack()
        return (bytes, try RecordBlock(unpacking: bytes[...]) == block)
    }
}
