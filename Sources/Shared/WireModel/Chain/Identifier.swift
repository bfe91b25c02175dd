import FoundationEssentials

/// A 16-byte identifier. Its type says what it identifies, so an epoch cannot be used as a device.
///
/// Written as a lower-case UUID (`8-4-4-4-12`). Any 16 bytes are valid; random ones are version 4 UUIDs.
package struct Identifier<Subject>: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random identifier from the system's generator.
    package static func random() -> Self {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> Self {
        Self(
            high: (generator.next() & ~0xF000) | 0x4000,
            low: (generator.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000)
    }

    /// `nil` unless there are exactly 16 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &halves) { $0.copyBytes(from: bytes) }
        self.init(high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1))
    }

    /// `nil` unless the text is 32 hexadecimal digits, with or without the dashes of a UUID.
    package init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 32, text.utf8.count == 32 || text.utf8.count == 36,
            let high = UInt64(String(decoding: digits.prefix(16), as: UTF8.self), radix: 16),
            let low = UInt64(String(decoding: digits.suffix(16), as: UTF8.self), radix: 16),
            digits.allSatisfy({ $0 != UInt8(ascii: "+") })
        else { return nil }
        self.init(high: high, low: low)
    }

    package var data: Data {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Data($0) }
    }
}

/// Identifiers are ordered by their bytes, which is also the order of their texts.
extension Identifier: Comparable {
    package static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

extension Identifier: CustomStringConvertible {
    package var description: String {
        func hexadecimal(_ value: UInt64, _ digits: Int) -> String {
            let text = String(value, radix: 16)
            return String(repeating: "0", count: digits - text.utf8.count) + text
        }
        return [
            hexadecimal(high >> 32, 8), hexadecimal(high >> 16 & 0xFFFF, 4), hexadecimal(high & 0xFFFF, 4),
            hexadecimal(low >> 48, 4), hexadecimal(low & 0xFFFF_FFFF_FFFF, 12),
        ].joined(separator: "-")
    }
}

package enum DeviceSubject {}
package enum EpochSubject {}
package enum BootSubject {}
package enum CollectorSubject {}
package enum IncarnationSubject {}
package enum UploadSubject {}
package enum LogEpochSubject {}

/// A device as the collector knows it. Assigned at enrollment.
package typealias DeviceID = Identifier<DeviceSubject>
/// An epoch of a device's queue. Record numbers start at 1 in each epoch. Random.
package typealias EpochID = Identifier<EpochSubject>
/// One boot of the machine (`/proc/sys/kernel/random/boot_id`).
package typealias BootID = Identifier<BootSubject>
/// A collector. Never changes.
package typealias CollectorID = Identifier<CollectorSubject>
/// A collector's state between two restores. It changes with each restore from backup.
package typealias IncarnationID = Identifier<IncarnationSubject>
/// An upload of a device's log. The device chooses it.
package typealias UploadID = Identifier<UploadSubject>
/// One life of a device's log store. Line numbers are unique within it.
package typealias LogEpochID = Identifier<LogEpochSubject>

extension Data {
    /// Two lower-case hexadecimal digits per byte.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(count * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
