import FoundationEssentials

/// What a message of a person to a host program may be. Both ends check it.
package enum MessageLimits {
    /// UTF-8 bytes of the text.
    package static let textBytes = 4096
    /// Bytes of the payload.
    package static let payloadBytes = 4096
    /// Bytes of the payload's media type.
    package static let contentTypeBytes = 255
}

extension WireDeliverMessage {
    /// The field that cannot be as it is, with the rule that it breaks; `nil`: the message may be delivered.
    package var objection: (field: String, rule: String)? {
        guard !text.isEmpty || !payload.isEmpty else { return ("text", "is missing: give a text, a payload or both.") }
        guard text.utf8.count <= MessageLimits.textBytes else {
            return ("text", "has \(text.utf8.count) bytes of UTF-8; at most \(MessageLimits.textBytes) are allowed.")
        }
        guard !text.unicodeScalars.contains(where: { $0.isControl && $0 != "\n" && $0 != "\t" }) else {
            return ("text", "has control characters. Line feed and tab are the only ones allowed.")
        }
        guard payload.count <= MessageLimits.payloadBytes else {
            return ("payload", "has \(payload.count) bytes; at most \(MessageLimits.payloadBytes) are allowed.")
        }
        guard payload.isEmpty == contentType.isEmpty else {
            return ("contentType", "must be given with a payload, and only then: its media type, such as image/png.")
        }
        guard contentType.isEmpty || Self.isMediaType(contentType) else {
            return (
                "contentType",
                "is not a media type, such as text/plain;charset=utf-8, of at most \(MessageLimits.contentTypeBytes) "
                    + "bytes."
            )
        }
        return nil
    }

    /// `type/subtype`, then parameters (RFC 9110, 8.3.1). Parameters only have to be printable ASCII in the form
    /// `name=value`.
    private static func isMediaType(_ text: String) -> Bool {
        guard text.utf8.count <= MessageLimits.contentTypeBytes, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return false }
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        let names = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy({ isToken($0.utf8) }) else { return false }
        return parts.dropFirst().allSatisfy { part in
            let parameter = part.utf8.drop { $0 == UInt8(ascii: " ") }
            guard let sign = parameter.firstIndex(of: UInt8(ascii: "=")) else { return false }
            return isToken(parameter[..<sign]) && !parameter[sign...].dropFirst().isEmpty
        }
    }

    private static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty
            && bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
