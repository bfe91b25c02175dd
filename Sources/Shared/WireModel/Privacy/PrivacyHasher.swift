import Crypto
import FoundationEssentials

/// Keyed hashes of personal values: the same value of the same class under the same key gives the same text, and nothing else is told.
///
/// HMAC-SHA256 with the organization's key over `ws1-privacy-1`, the class and the value, each of the first two ended by a zero byte (neither
/// holds one), so that a value hashed as one class says nothing about the same value in another. The first 12 bytes are kept, in
/// hexadecimal behind `hash:`: among a million values two collide with a probability of 10 to the -17.
struct PrivacyHasher: Sendable {
    static let prefix = "hash:"
    private static let domain = "ws1-privacy-1"
    private static let keptBytes = 12

    private let key: SymmetricKey

    init(key: Data) {
        self.key = SymmetricKey(data: key)
    }

    func hash(_ value: some Sequence<UInt8>, of fieldClass: FieldClass) -> String {
        var input = Data(Self.domain.utf8)
        input.append(0)
        input.append(contentsOf: fieldClass.rawValue.utf8)
        input.append(0)
        input.append(contentsOf: value)
        let code = HMAC<SHA256>.authenticationCode(for: input, using: key)
        return Self.prefix + Data(code.prefix(Self.keptBytes)).hexadecimal
    }
}
