import Crypto
import FoundationEssentials
import WireModel

/// Where a chunk lies below `<data>/chunks`, or in a bucket:
///
/// ```
/// <organization>/<application>/<device>/<upload>-<number>.log.gz              in a directory
/// <organization>/<application>/<device>/<upload>-<number>.<attempt>.log.gz    where several collectors store
/// ```
///
/// The attempt is random, so no two attempts at one chunk share a path. Each can be removed without harm to the other.
/// The registry keeps the path of the one that counts.
///
/// Each component has only letters, digits, `.`, `_`, `-` and `%`, and does not begin with a point, whatever names a
/// device sends.
package struct ChunkPath: Hashable, Sendable {
    /// Below `<data>/chunks`.
    package let directory: String
    package let file: String

    package var text: String { "\(directory)/\(file)" }

    static let suffix = ".log.gz"
    /// Not finished; removed at the next start.
    static let partialSuffix = ".partial"
    private static let componentBytes = 120

    /// - Parameter attempt: `nil` where only one collector stores.
    package init(
        organization: String, application: String, device: DeviceID, upload: UploadID, number: Int,
        attempt: UInt64? = nil
    ) {
        directory = "\(Self.component(organization))/\(Self.component(application))/\(device)"
        let attempt = attempt.map { "." + Self.padded(String($0, radix: 16), to: FileName.attemptCharacters) } ?? ""
        file = "\(upload)-\(Self.padded(String(number), to: 4))\(attempt)\(Self.suffix)"
    }

    /// - Parameter text: as a row of the registry has it. `nil` if it cannot be a chunk's.
    package init?(_ text: String) {
        guard let slash = text.lastIndex(of: "/"), slash != text.startIndex else { return nil }
        directory = String(text[..<slash])
        file = String(text[text.index(after: slash)...])
        guard FileName(file)?.isPartial == false else { return nil }
    }

    private static func padded(_ digits: String, to count: Int) -> String {
        String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }

    /// The parts of a file's name.
    struct FileName: Equatable {
        let upload: UploadID
        let number: Int
        /// `nil`: of a store that only one collector uses.
        let attempt: UInt64?
        /// Not finished.
        let isPartial: Bool

        /// `nil` where no chunk is called so.
        init?(_ name: String) {
            var rest = Substring(name)
            isPartial = rest.hasSuffix(ChunkPath.partialSuffix)
            if isPartial {
                rest = rest.dropLast(ChunkPath.partialSuffix.count)
                guard UploadID(String(rest.suffix(Self.idCharacters))) != nil else { return nil }
                rest = rest.dropLast(Self.idCharacters + 1)
            }
            guard rest.hasSuffix(ChunkPath.suffix), let upload = UploadID(String(rest.prefix(Self.idCharacters))) else {
                return nil
            }
            var digits = rest.dropLast(ChunkPath.suffix.count).dropFirst(Self.idCharacters)
            if let point = digits.firstIndex(of: ".") {
                let text = digits[digits.index(after: point)...]
                guard text.utf8.count == Self.attemptCharacters, let attempt = UInt64(text, radix: 16) else {
                    return nil
                }
                self.attempt = attempt
                digits = digits[..<point]
            } else {
                attempt = nil
            }
            guard digits.first == "-", let number = Int(digits.dropFirst()), number >= 0 else { return nil }
            self.upload = upload
            self.number = number
        }

        private static let idCharacters = 36
        static let attemptCharacters = 16
    }

    /// Every other byte as `%2f`; nothing at all as `%`; what would be too long is cut and made single by a digest of
    /// the whole.
    static func component(_ name: String) -> String {
        guard !name.isEmpty else { return "%" }
        var text = ""
        for (place, byte) in name.utf8.enumerated() {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where place > 0: text.append(".")
            default: text += "%" + Data([byte]).hexadecimal
            }
        }
        guard text.utf8.count > componentBytes else { return text }
        return text.prefix(80) + "%-" + Data(SHA256.hash(data: Data(name.utf8)).prefix(16)).hexadecimal
    }
}
