/// A D-Bus value (D-Bus specification, "Type System"), reduced to what we ask for.
package indirect enum BusValue: Equatable, Sendable {
    case boolean(Bool)
    case unsigned(UInt64)
    /// Strings, object paths and signatures.
    case text(String)
    case array([BusValue])
    case structure([BusValue])
    /// Keys that are not text are left out.
    case dictionary([String: BusValue])
    /// A value of another type.
    case other

    package subscript(_ key: String) -> BusValue? {
        if case .dictionary(let entries) = self { entries[key] } else { nil }
    }

    package var booleanValue: Bool? {
        if case .boolean(let value) = self { value } else { nil }
    }

    package var unsignedValue: UInt64? {
        if case .unsigned(let value) = self { value } else { nil }
    }

    package var textValue: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The members of a structure; empty for anything else.
    package var members: [BusValue] {
        if case .structure(let members) = self { members } else { [] }
    }
}

extension BusValue {
    /// Reads the rest of a message, or of the container that was entered.
    ///
    /// libsystemd has validated the message when it arrived, and containers nest at most 128 deep.
    ///
    /// - Returns: `nil` if the message is malformed after all.
    static func values(of message: SDBus.Message, _ bus: SDBus) -> [BusValue]? {
        var values: [BusValue] = []
        while true {
            var type: CChar = 0
            var contents: SDBus.Text?
            let result = bus.peek(message, &type, &contents)
            if result == 0 { return values }
            guard result > 0, let value = value(of: message, type, contents, bus) else { return nil }
            values.append(value)
        }
    }

    private static func value(
        of message: SDBus.Message, _ type: CChar, _ contents: SDBus.Text?, _ bus: SDBus
    ) -> BusValue? {
        /// `sd_bus_message_read_basic` fills a variable of the type's size.
        func basic<Value: BitwiseCopyable>(_ initial: Value) -> Value? {
            var value = initial
            return bus.read(message, type, &value) > 0 ? value : nil
        }
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "b"): return basic(CInt(0)).map { .boolean($0 != 0) }
        case UInt8(ascii: "y"): return basic(UInt8(0)).map { .unsigned(UInt64($0)) }
        case UInt8(ascii: "q"): return basic(UInt16(0)).map { .unsigned(UInt64($0)) }
        case UInt8(ascii: "u"): return basic(UInt32(0)).map { .unsigned(UInt64($0)) }
        case UInt8(ascii: "t"): return basic(UInt64(0)).map { .unsigned($0) }
        case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
            return basic(SDBus.Text?.none)?.map { .text(String(cString: $0)) }
        case UInt8(ascii: "v"), UInt8(ascii: "a"), UInt8(ascii: "r"), UInt8(ascii: "e"):
            let isDictionary = contents?.pointee == CChar(bitPattern: UInt8(ascii: "{"))
            guard bus.enter(message, type, contents) > 0, let inner = values(of: message, bus),
                bus.exit(message) > 0
            else { return nil }
            switch UInt8(bitPattern: type) {
            case UInt8(ascii: "v"): return inner.first
            case UInt8(ascii: "a") where isDictionary: return .dictionary(dictionary(inner))
            case UInt8(ascii: "a"): return .array(inner)
            default: return .structure(inner)
            }
        default: return bus.skip(message, [type, 0]) > 0 ? .other : nil
        }
    }

    /// - Parameter entries: each a key and a value.
    private static func dictionary(_ entries: [BusValue]) -> [String: BusValue] {
        entries.reduce(into: [:]) { result, entry in
            if entry.members.count == 2, let key = entry.members[0].textValue { result[key] = entry.members[1] }
        }
    }
}
