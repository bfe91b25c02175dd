import Crypto
import FoundationEssentials
import WireModel

/// Applies a privacy policy to a record once, when it is made. The bytes that are queued, chained and sent never
/// contained more.
///
/// It walks the serialized message by the tables of ``FieldClasses``. Only named fields pass: unknown fields and fields
/// of an unexpected wire type are removed. Nothing is left of a body that is malformed or of an unknown kind. A message
/// that needs no change is returned without a copy.
///
/// A value; safe from any thread. It costs one walk over the bytes, and one HMAC per hashed field.
package struct PrivacyFilter: Sendable {
    package let policy: PrivacyPolicy
    private let hasher: PrivacyHasher?
    private let positionGrid: Double

    /// - Parameters:
    ///   - key: the organization's key (`Profile.privacy_key`). Equal values have equal hashes on all its devices and
    ///     nowhere else. If empty, values that would be hashed are dropped.
    ///   - positionGrid: the grid of coarse positions in degrees, above 0.
    package init(
        policy: PrivacyPolicy, key: Data, positionGrid: Double = ProfileLimits.standardPositionGrid
    ) {
        self.policy = policy
        self.positionGrid = positionGrid
        hasher = key.isEmpty ? nil : PrivacyHasher(key: key)
    }

    package func filtered(_ body: Data, kind: WireRecordKind) -> Data {
        guard let message = FieldClasses.body(of: kind) else { return Data() }
        return filtered(body, as: message)
    }

    /// The enrollment request after filtering, because its names are personal too.
    package func filtered(_ request: WireEnrollRequest) -> WireEnrollRequest {
        let bytes = filtered(request.encoded, as: FieldClasses.enrollRequest)
        // Filtering one of our messages yields a valid message. If it did not, nothing may be sent.
        return (try? WireEnrollRequest.decode(bytes)) ?? WireEnrollRequest()
    }

    /// One text of a class.
    /// - Returns: `nil` if it is dropped.
    package func filtered(_ text: String, of fieldClass: FieldClass) -> String? {
        switch action(fieldClass) {
        case .send: text
        case .hash: hasher?.hash(text.utf8, of: fieldClass)
        case .coarsen, .drop: nil
        }
    }

    private func filtered(_ bytes: Data, as message: MessageFields) -> Data {
        let outcome = bytes.withUnsafeBytes { walk($0, as: message, inherited: nil) }
        return switch outcome {
        case .unchanged: bytes
        case .changed(let remaining): Data(remaining)
        case .malformed: Data()
        }
    }

    /// The action for a class. A hash without a key, or of a position, hides nothing or cannot be made, so the value is
    /// dropped.
    private func action(_ fieldClass: FieldClass) -> PrivacyAction {
        let action = policy[fieldClass]
        return action == .hash && (hasher == nil || fieldClass == .position) ? .drop : action
    }

    // MARK: Walking

    private enum Outcome {
        case unchanged
        case changed([UInt8])
        case malformed
    }

    private enum FieldOutcome {
        case keep
        case drop
        case replace([UInt8])
    }

    /// - Parameter inherited: the class of the field that contains this message. Applies to values without a class of
    ///   their own.
    private func walk(_ bytes: UnsafeRawBufferPointer, as message: MessageFields, inherited: FieldClass?) -> Outcome {
        var scanner = ProtobufScanner(bytes)
        var writer = ProtobufWriter(reserving: 0)
        var copied = 0
        while true {
            let start = scanner.position
            guard let (number, value) = scanner.next() else { break }
            let raw = UnsafeRawBufferPointer(rebasing: bytes[start..<scanner.position])
            let outcome = decide(number, value, raw: raw, in: bytes, message, inherited)
            if case .keep = outcome { continue }
            // An entry without its value is dropped as a whole.
            if case .drop = outcome, message.isMapEntry { return .changed([]) }
            writer.raw(UnsafeRawBufferPointer(rebasing: bytes[copied..<start]))
            if case .replace(let field) = outcome { field.withUnsafeBytes { writer.raw($0) } }
            copied = scanner.position
        }
        guard scanner.isAtEnd else { return .malformed }
        guard copied > 0 else { return .unchanged }
        writer.raw(UnsafeRawBufferPointer(rebasing: bytes[copied...]))
        return .changed(writer.written)
    }

    private func decide(
        _ number: Int, _ value: ProtobufScanner.Value, raw: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer,
        _ message: MessageFields, _ inherited: FieldClass?
    ) -> FieldOutcome {
        guard let rule = message.rule(number) else { return .drop }
        switch rule.content {
        case .technical: return .keep
        case .personal(let fieldClass, let form):
            return apply(action(fieldClass), fieldClass, form, number, value, raw: raw, in: bytes)
        case .inherited(let form):
            // A table without a class to inherit is our mistake. Dropping is the safe side.
            guard let inherited else { return .drop }
            return apply(action(inherited), inherited, form, number, value, raw: raw, in: bytes)
        case .message(let fields, let fieldClass):
            guard case .bytes(let range) = value else { return .drop }
            if let fieldClass, action(fieldClass) == .drop { return .drop }
            let inner = UnsafeRawBufferPointer(rebasing: bytes[range])
            switch walk(inner, as: fields, inherited: fieldClass) {
            case .unchanged: return .keep
            case .malformed: return .drop
            case .changed(let remaining):
                // A personal message with nothing left is absent, not present and empty.
                if remaining.isEmpty, fieldClass != nil { return .drop }
                var writer = ProtobufWriter(reserving: remaining.count + 8)
                writer.present(field: number, bytes: remaining)
                return .replace(writer.written)
            }
        }
    }

    // MARK: Values

    private func apply(
        _ action: PrivacyAction, _ fieldClass: FieldClass, _ form: PersonalForm, _ number: Int,
        _ value: ProtobufScanner.Value, raw: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer
    ) -> FieldOutcome {
        switch value {
        case .bytes(let range):
            guard form.isText else { return .drop }
            return apply(action, fieldClass, form, number, text: UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .varint(let integer):
            guard let coarse = form.coarse(varint: integer) else {
                return form.isText || action != .send ? .drop : .keep
            }
            switch action {
            case .send: return .keep
            case .hash, .drop: return .drop
            case .coarsen:
                var writer = ProtobufWriter(reserving: 12)
                writer.present(field: number, varint: coarse)
                return .replace(writer.written)
            }
        case .fixed64:
            guard !form.isText else { return .drop }
            switch action {
            case .send: return .keep
            case .hash, .drop: return .drop
            case .coarsen:
                // The last eight bytes of the field.
                let bits = raw.loadUnaligned(fromByteOffset: raw.count - 8, as: UInt64.self)
                guard let coarse = form.coarse(Double(bitPattern: UInt64(littleEndian: bits)), grid: positionGrid)
                else { return .drop }
                var writer = ProtobufWriter(reserving: 12)
                writer.present(field: number, double: coarse)
                return .replace(writer.written)
            }
        case .fixed32: return .drop  // No field of ours is one.
        }
    }

    private func apply(
        _ action: PrivacyAction, _ fieldClass: FieldClass, _ form: PersonalForm, _ number: Int,
        text bytes: UnsafeRawBufferPointer
    ) -> FieldOutcome {
        // An IPv6 address may contain the interface's hardware address in its last eight bytes.
        if action == .send, form != .ipAddress || policy[.mac] == .send { return .keep }
        if form == .interfaceName, !InterfaceNameAddress.isInside(bytes) { return .keep }
        let text = String(decoding: bytes, as: UTF8.self)
        let result: String? =
            switch action {
            case .send: IPAddressText(text)?.withoutInterfaceID ?? text
            case .hash: hasher.map { form.hashed(text, of: fieldClass, by: $0, bytes: bytes) }
            case .coarsen: form.coarse(text)
            // The rest of an interface's name shows its kind, and stays.
            case .drop: form == .interfaceName ? InterfaceNameAddress.prefix(of: text) : nil
            }
        guard let remaining = result else { return .drop }
        if remaining == text { return .keep }
        var writer = ProtobufWriter(reserving: remaining.utf8.count + 8)
        writer.present(field: number, bytes: remaining.utf8)
        return .replace(writer.written)
    }
}

/// Keyed hashes of personal values. The same value of the same class under the same key always gives the same text. The
/// text reveals nothing else.
///
/// It is the HMAC-SHA256, with the organization's key, of `ws1-privacy-1`, the class and the value. A zero byte ends
/// each of the first two, which contain none. So the hash of a value in one class reveals nothing about the same value
/// in another. The first 12 bytes are kept, in hexadecimal after `hash:`. The probability that two of a million values
/// collide is 10^-17.
struct PrivacyHasher: Sendable {
    static let prefix = "hash:"
    private static let domain = "ws1-privacy-1"
    private static let keptBytes = 12

    private let key: SymmetricKey

    init(key: Data) { self.key = SymmetricKey(data: key) }

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
