/// Messages of the D-Bus wire protocol. Calls are encoded, replies are decoded (D-Bus specification, "Message Format").
enum DBusMessage {
    /// The longest accepted message. The answers we ask for have a few kilobytes.
    static let maximumBytes = 1 << 20
    /// The bytes that tell a message's length.
    static let prefixBytes = 16

    private enum Field {
        static let path: UInt8 = 1
        static let interface: UInt8 = 2
        static let member: UInt8 = 3
        static let errorName: UInt8 = 4
        static let replySerial: UInt8 = 5
        static let destination: UInt8 = 6
        static let signature: UInt8 = 8
    }

    /// A method, and the object to call it on.
    struct Call: Equatable {
        var destination: String
        var path: String
        var interface: String
        var member: String
        /// All arguments are text.
        var arguments: [String] = []
    }

    struct Reply: Equatable {
        enum Content: Equatable {
            case values([DBusValue])
            /// The error's name, such as `org.freedesktop.DBus.Error.ServiceUnknown`.
            case error(String)
        }

        /// The serial of the call that is answered; 0 for messages that answer none, such as signals.
        var serial: UInt32
        var content: Content
    }

    /// Encodes a call, little-endian.
    static func encode(_ call: Call, serial: UInt32) -> [UInt8] {
        var body = DBusWriter()
        for argument in call.arguments { body.text(argument) }
        var message = DBusWriter()
        // A method call that must not start a service (flag 0x2), protocol version 1.
        message.raw([UInt8(ascii: "l"), 1, 0x2, 1])
        message.uint32(UInt32(body.bytes.count))
        message.uint32(serial)
        var fields = DBusWriter()
        fields.field(Field.path, "o", call.path)
        fields.field(Field.interface, "s", call.interface)
        fields.field(Field.member, "s", call.member)
        fields.field(Field.destination, "s", call.destination)
        if !call.arguments.isEmpty {
            fields.signatureField(Field.signature, String(repeating: "s", count: call.arguments.count))
        }
        // The array starts at byte 16, so alignment within it is also alignment within the message.
        message.uint32(UInt32(fields.bytes.count))
        message.raw(fields.bytes)
        message.align(8)
        return message.bytes + body.bytes
    }

    /// The length of the message that begins with these 16 bytes; `nil` if it is no message or too long.
    static func length(_ prefix: [UInt8]) -> Int? {
        guard prefix.count >= prefixBytes, let isLittleEndian = isLittleEndian(prefix), prefix[3] == 1 else {
            return nil
        }
        var reader = DBusReader(prefix[4...], isLittleEndian: isLittleEndian)
        guard let body = reader.uint32(), reader.uint32() != nil, let fields = reader.uint32(), body <= maximumBytes,
            fields <= maximumBytes
        else { return nil }
        let length = prefixBytes + (Int(fields) + 7) / 8 * 8 + Int(body)
        return length <= maximumBytes ? length : nil
    }

    /// Decodes a whole message; `nil` if it is malformed.
    static func decode(_ message: [UInt8]) -> Reply? {
        guard length(message) == message.count, let isLittleEndian = isLittleEndian(message) else { return nil }
        var reader = DBusReader(message[...], isLittleEndian: isLittleEndian)
        guard let fixed = reader.values("yyyyuu"), case .unsigned(let type) = fixed[1],
            case .unsigned(let bodyLength) = fixed[4],
            let fields = reader.values("a(yv)"), case .array(let list)? = fields.first, reader.align(8)
        else { return nil }
        var serial: UInt32 = 0
        var errorName: String?
        var signature = ""
        for field in list {
            guard case .structure(let members) = field, members.count == 2, case .unsigned(let code) = members[0] else {
                return nil
            }
            switch (UInt8(truncatingIfNeeded: code), members[1]) {
            case (Field.replySerial, .unsigned(let value)): serial = UInt32(truncatingIfNeeded: value)
            case (Field.errorName, .text(let name)): errorName = name
            case (Field.signature, .text(let text)): signature = text
            default: continue
            }
        }
        guard message.count - reader.offset == Int(bodyLength) else { return nil }
        switch type {
        case 2:
            var body = DBusReader(message[reader.offset...], isLittleEndian: isLittleEndian)
            guard let values = body.values(signature), body.position == message.endIndex else { return nil }
            return Reply(serial: serial, content: .values(values))
        case 3: return Reply(serial: serial, content: .error(errorName ?? "an error without a name"))
        default: return Reply(serial: 0, content: .values([]))
        }
    }

    private static func isLittleEndian(_ message: [UInt8]) -> Bool? {
        switch message.first {
        case UInt8(ascii: "l"): true
        case UInt8(ascii: "B"): false
        default: nil
        }
    }
}

/// Marshals the few types that calls need, little-endian.
struct DBusWriter {
    private(set) var bytes: [UInt8] = []

    mutating func raw(_ more: [UInt8]) { bytes += more }

    mutating func align(_ alignment: Int) {
        while bytes.count % alignment != 0 { bytes.append(0) }
    }

    mutating func uint32(_ value: UInt32) {
        align(4)
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
    }

    mutating func text(_ text: String) {
        uint32(UInt32(text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }

    mutating func signature(_ text: String) {
        bytes.append(UInt8(text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }

    /// A header field: its code, and a variant of a text-like type.
    mutating func field(_ code: UInt8, _ type: String, _ value: String) {
        align(8)
        bytes.append(code)
        signature(type)
        text(value)
    }

    mutating func signatureField(_ code: UInt8, _ value: String) {
        align(8)
        bytes.append(code)
        signature("g")
        signature(value)
    }
}
