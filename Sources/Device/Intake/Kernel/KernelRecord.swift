/// A record of the kernel's ring, as one read of `/dev/kmsg` gives it
/// (`Documentation/ABI/testing/dev-kmsg` of the kernel):
///
///     6,1234,98765432,-,caller=T1;text of the line
///      SUBSYSTEM=pci
///      DEVICE=+pci:0000:00:1f.2
///
/// Bytes that are not printable ASCII, and the backslash, come as `\xNN`. Pure.
struct KernelRecord: Equatable, Sendable {
    /// Kept fields behind the text. The kernel gives two.
    private static let maximumFields = 32

    /// 0 (emergency) to 7 (debug).
    var severity: Int
    /// 0 is the kernel; other numbers are of programs that write into the ring.
    var facility: Int
    /// Each record of a boot has the next number, from 0.
    var sequence: UInt64
    /// Of the kernel's own clock, since the boot. It stands still while the machine sleeps.
    var microseconds: Int64
    /// Bytes that are no UTF-8 are U+FFFD.
    var text: String
    var fields: [String: String] = [:]
}

extension KernelRecord {
    /// - Returns: `nil` for what is not of the format.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true).makeIterator()
        guard let first = lines.next(), let semicolon = first.firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let head = first[..<semicolon].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard head.count >= 3, let priority = Self.number(head[0]), priority <= UInt64(UInt32.max),
            let sequence = Self.number(head[1]), let time = Self.number(head[2]), time <= UInt64(Int64.max)
        else { return nil }
        severity = Int(priority & 7)
        facility = Int(priority >> 3)
        self.sequence = sequence
        microseconds = Int64(time)
        text = Self.unescaped(first[(semicolon + 1)...])
        while let line = lines.next(), fields.count < Self.maximumFields {
            guard line.first == UInt8(ascii: " "), let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
            fields[Self.unescaped(line[(line.startIndex + 1)..<equals])] = Self.unescaped(line[(equals + 1)...])
        }
    }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        guard !digits.isEmpty, digits.count <= 20 else { return nil }
        var value: UInt64 = 0
        for byte in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            guard !isTooLarge, !overflow else { return nil }
            value = sum
        }
        return value
    }

    private static func unescaped(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == UInt8(ascii: "\\"), bytes.endIndex - index >= 4, bytes[index + 1] == UInt8(ascii: "x"),
                let high = digit(bytes[index + 2]), let low = digit(bytes[index + 3])
            {
                plain.append(high << 4 | low)
                index += 4
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
