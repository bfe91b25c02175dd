/// Bech32 (BIP 173): bytes as text of one case, without letters that look alike, and with a checksum.
///
/// The checksum finds any four changed characters of texts as short as ours. Its known weakness, a `q` more or less
/// before a final `p`, changes the length, and our texts have one length.
enum Bech32 {
    enum Fault: Error {
        /// No text of this form: a character that it never has, both cases, no `1`, or too short.
        case form
        /// A character is wrong, missing or too many.
        case checksum
    }

    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let generators: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
    private static let checksumDigits = 6

    /// - Parameter prefix: lower-case ASCII; it says what the bytes are.
    /// - Returns: lower-case text.
    static func encode(_ bytes: [UInt8], prefix: String) -> String {
        let digits = regroup(bytes, from: 8, to: 5, padding: true) ?? []
        let open = expanded(Array(prefix.utf8)) + digits
        let sum = polynomial(open + [UInt8](repeating: 0, count: checksumDigits)) ^ 1
        let check = (0..<checksumDigits).map { UInt8(sum >> (5 * (checksumDigits - 1 - $0)) & 31) }
        return "\(prefix)1\(String(decoding: (digits + check).map { alphabet[Int($0)] }, as: UTF8.self))"
    }

    /// - Parameter text: in one case.
    static func decode(_ text: String) throws(Fault) -> (prefix: String, bytes: [UInt8]) {
        guard text.utf8.allSatisfy({ (33...126).contains($0) }), text == text.lowercased() || text == text.uppercased(),
            let separator = text.lastIndex(of: "1"), separator > text.startIndex
        else { throw .form }
        let lower = text.lowercased()
        let prefix = String(lower[..<separator])
        var digits: [UInt8] = []
        for byte in lower[lower.index(after: separator)...].utf8 {
            guard let digit = alphabet.firstIndex(of: byte) else { throw .form }
            digits.append(UInt8(digit))
        }
        guard digits.count >= checksumDigits else { throw .form }
        guard polynomial(expanded(Array(prefix.utf8)) + digits) == 1 else { throw .checksum }
        guard let bytes = regroup(digits.dropLast(checksumDigits), from: 5, to: 8, padding: false) else { throw .form }
        return (prefix, bytes)
    }

    private static func expanded(_ prefix: [UInt8]) -> [UInt8] { prefix.map { $0 >> 5 } + [0] + prefix.map { $0 & 31 } }

    private static func polynomial(_ digits: [UInt8]) -> UInt32 {
        digits.reduce(1) { sum, digit in
            let top = sum >> 25
            let next = (sum & 0x1ff_ffff) << 5 ^ UInt32(digit)
            return generators.indices.reduce(next) { top >> UInt32($1) & 1 == 1 ? $0 ^ generators[$1] : $0 }
        }
    }

    /// - Returns: `nil` if bits are left that no encoder leaves.
    private static func regroup(_ groups: some Sequence<UInt8>, from: Int, to: Int, padding: Bool) -> [UInt8]? {
        var (bits, count) = (UInt32(0), 0)
        var regrouped: [UInt8] = []
        for group in groups {
            bits = (bits << UInt32(from) | UInt32(group)) & 0xffff
            count += from
            while count >= to {
                count -= to
                regrouped.append(UInt8(bits >> UInt32(count) & (1 << UInt32(to) - 1)))
            }
        }
        let rest = bits << UInt32(to - count) & (1 << UInt32(to) - 1)
        if padding {
            if count > 0 { regrouped.append(UInt8(rest)) }
        } else if count >= from || rest != 0 {
            return nil
        }
        return regrouped
    }
}
