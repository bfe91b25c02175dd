import Crypto
import FoundationEssentials
import WireModel

/// What a data key seals. Names and numbers never change.
package enum KeyPurpose: UInt8, CaseIterable, Sendable, CustomStringConvertible {
    /// Data of the program that embeds the library.
    case application = 1
    case queue = 2
    case logs = 3
    /// Files of the data directory.
    case state = 4

    package init?(name: String) {
        guard let purpose = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = purpose
    }

    package var description: String {
        switch self {
        case .application: "application"
        case .queue: "queue"
        case .logs: "logs"
        case .state: "state"
        }
    }
}

/// A key that seals data of one purpose.
package struct DataKey: Sendable {
    /// Its id in the file `keys`, from 1. Sealed data names it; 0 means that data is plain.
    package let id: UInt32
    package let purpose: KeyPurpose
    let secret: SymmetricKey

    package init(id: UInt32, purpose: KeyPurpose, secret: SymmetricKey) {
        self.id = id
        self.purpose = purpose
        self.secret = secret
    }

    /// AES-KW under a key that is derived for this id and purpose, so that it unwraps as no other.
    func wrapped(by deviceKey: SymmetricKey) throws(EncryptionError) -> Data {
        do { return try AES.KeyWrap.wrap(secret, using: Self.wrappingKey(deviceKey, purpose, id)) } catch {
            throw EncryptionError(.invalid, "key \(id) cannot be wrapped: \(error)", cause: error)
        }
    }

    /// `nil`: the bytes are not this key, wrapped with that device key.
    init?(id: UInt32, purpose: KeyPurpose, wrapped: Data, by deviceKey: SymmetricKey) {
        guard let secret = try? AES.KeyWrap.unwrap(wrapped, using: Self.wrappingKey(deviceKey, purpose, id)),
            secret.bitCount == 256
        else { return nil }
        self.init(id: id, purpose: purpose, secret: secret)
    }

    private static func wrappingKey(_ deviceKey: SymmetricKey, _ purpose: KeyPurpose, _ id: UInt32) -> SymmetricKey {
        var info = Data("ws1 wrap 1".utf8)
        info.append(purpose.rawValue)
        info.append(bigEndian: id)
        return HKDF<SHA256>.deriveKey(inputKeyMaterial: deviceKey, info: info, outputByteCount: 32)
    }
}

extension SymmetricKey {
    /// Says which key it is and discloses nothing else: 32 hexadecimal digits.
    var fingerprint: String {
        let code = HMAC<SHA256>.authenticationCode(for: Data("ws1 fingerprint 1".utf8), using: self)
        return Data(code).prefix(16).hexadecimal
    }
}

extension RangeReplaceableCollection<UInt8> {
    mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

extension Data {
    /// The number in the bytes from an offset; the caller has counted them.
    func bigEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        withUnsafeBytes { Value(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }

    /// `nil` unless the text is pairs of lower-case hexadecimal digits. One text stands for given bytes, so a changed
    /// text is never read as the same.
    init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        self.init(capacity: digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            append(high << 4 | low)
        }
    }
}
