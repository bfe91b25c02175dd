import Crypto
import CryptoExtras
import FoundationEssentials

/// PBKDF2 with HMAC-SHA-512 (RFC 8018). The only place that needs swift-crypto's extras.
enum PasscodeDerivation {
    static func key(of passcode: String, salt: Data, rounds: Int) throws(EncryptionError) -> SymmetricKey {
        do {
            return try KDF.Insecure.PBKDF2.deriveKey(
                from: Data(passcode.utf8), salt: salt, using: .sha512, outputByteCount: 32, rounds: rounds)
        } catch {
            throw EncryptionError(.invalid, "no key can be derived of the passcode: \(error)", cause: error)
        }
    }
}
