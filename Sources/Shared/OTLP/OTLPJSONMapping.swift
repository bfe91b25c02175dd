/// Turns OTLP's JSON into the JSON of Protobuf, in place and before it is decoded, and counts what decoding would
/// allocate.
///
/// OTLP's mapping differs from Protobuf's in four points, and one decoder can read both once they are evened out:
///
/// | OTLP | Protobuf | what happens here |
/// |---|---|---|
/// | `traceId` and `spanId` are hex | bytes are base64 | the text becomes base64, which is shorter; spaces follow it |
/// | a key is the name in lowerCamelCase | the schema's own name is a key too | a key with `_` loses its first letter |
/// | an enum is a number | its name will do | a text is refused |
/// | unknown keys are ignored | they are errors | the decoder's option does it |
///
/// The pass follows brackets and texts only. Whether the body is JSON at all, the decoder says.
struct OTLPJSONMapping {
    private struct Bracket {
        var isObject: Bool
        /// What the items of a list hold; for an object, the message that it is. `nil`: nobody reads it.
        var content: OTLPShape.Content?
        var expectsKey: Bool
    }

    private var open: [Bracket] = []
    /// What the next value is. `nil`: nobody reads it.
    private var next: OTLPShape.Content?
    private let depth: Int
    private var elements: OTLPElementCount

    /// - Returns: the elements.
    /// - Throws: `.malformed`, or `.tooLarge` for too many elements.
    static func apply(to bytes: inout [UInt8], shape: Int, limits: OTLPLimits) throws(OTLPError) -> Int {
        var mapping = OTLPJSONMapping(shape: shape, limits: limits)
        try mapping.run(&bytes)
        return mapping.elements.count
    }

    private init(shape: Int, limits: OTLPLimits) {
        next = .message(shape)
        // A list of messages has two brackets for each level.
        depth = 2 * limits.depth
        elements = OTLPElementCount(limit: limits.elements)
    }

    private mutating func run(_ bytes: inout [UInt8]) throws(OTLPError) {
        var place = 0
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "{"):
                if case .message = next { try elements.add() }
                try enter(Bracket(isObject: true, content: next, expectsKey: true))
            case UInt8(ascii: "["):
                if next == .list || next == .varints { try elements.add() }
                try enter(Bracket(isObject: false, content: next, expectsKey: false))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // With too many closing brackets the decoder refuses the body.
                guard !open.isEmpty else { return }
                open.removeLast()
                next = nil
            case UInt8(ascii: ","):
                guard let last = open.indices.last else { return }
                if open[last].isObject {
                    open[last].expectsKey = true
                } else {
                    next = open[last].content
                    if next == .list || next == .varints { try elements.add() }
                }
            case UInt8(ascii: "\""):
                let end = Self.endOfText(from: place, in: bytes)
                guard end < bytes.count else { return }
                try text(&bytes, from: place + 1, to: end)
                place = end
            default: break
            }
            place += 1
        }
    }

    private mutating func enter(_ bracket: Bracket) throws(OTLPError) {
        guard open.count < depth else {
            throw OTLPError(.malformed, "The request has objects and lists more than \(depth) deep.")
        }
        open.append(bracket)
    }

    /// The place of the closing quotation mark; the end of the bytes if there is none.
    private static func endOfText(from start: Int, in bytes: [UInt8]) -> Int {
        var place = start + 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(place, bytes.count)
    }

    private mutating func text(_ bytes: inout [UInt8], from start: Int, to end: Int) throws(OTLPError) {
        if let last = open.indices.last, open[last].expectsKey {
            open[last].expectsKey = false
            next = key(&bytes, from: start, to: end, of: open[last].content)
            return
        }
        switch next {
        case .enumeration:
            throw OTLPError(
                .malformed, "The value at byte \(start) of the JSON is a text, and OTLP has enums as numbers only.")
        case .identifier: try Self.writeBase64(&bytes, from: start, to: end)
        case .plain, .list, .varints, .message, nil: break
        }
    }

    private func key(
        _ bytes: inout [UInt8], from start: Int, to end: Int, of object: OTLPShape.Content?
    ) -> OTLPShape.Content? {
        guard case .message(let shape) = object else { return nil }
        var hash = NameHash()
        var isSchemaName = false
        for place in start..<end {
            if bytes[place] == UInt8(ascii: "_") { isSchemaName = true }
            hash.add(bytes[place])
        }
        // No name in OTLP's JSON has an underscore. The decoder would take the schema's own name.
        if isSchemaName, bytes[start] != UInt8(ascii: "\\") { bytes[start] = UInt8(ascii: "-") }
        return OTLPShape.all[shape].content(name: hash)
    }

    /// Rewrites hex as base64 without padding, and fills up with spaces behind the closing quotation mark.
    private static func writeBase64(_ bytes: inout [UInt8], from start: Int, to end: Int) throws(OTLPError) {
        guard (end - start).isMultiple(of: 2) else { throw notHex(start) }
        var (read, written) = (start, start)
        while read < end {
            // Three bytes of an identifier, or what is left of it.
            let count = min(3, (end - read) / 2)
            var group: UInt32 = 0
            for place in read..<(read + 2 * count) {
                guard let digit = hexDigit(bytes[place]) else { throw notHex(start) }
                group = group << 4 | digit
            }
            read += 2 * count
            group <<= UInt32(8 * (3 - count))
            for position in 0...count {
                bytes[written] = base64[Int(group >> UInt32(18 - 6 * position) & 63)]
                written += 1
            }
        }
        guard written < end else { return }
        bytes[written] = UInt8(ascii: "\"")
        for place in (written + 1)...end { bytes[place] = UInt8(ascii: " ") }
    }

    private static func notHex(_ place: Int) -> OTLPError {
        OTLPError(
            .malformed, "The identifier at byte \(place) of the JSON is not hex. OTLP has traceId and spanId as hex.")
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    private static let base64 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
