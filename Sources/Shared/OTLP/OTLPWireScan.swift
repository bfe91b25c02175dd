/// Walks through a request in binary Protobuf before it is decoded, and counts what decoding would allocate.
///
/// It allocates nothing itself. What it cannot walk through, the decoder does not get to see.
struct OTLPWireScan {
    private let bytes: [UInt8]
    private let depth: Int
    private var elements: OTLPElementCount

    /// - Returns: the elements.
    /// - Throws: `.malformed`, or `.tooLarge` for too many elements.
    static func check(_ bytes: [UInt8], shape: Int, limits: OTLPLimits) throws(OTLPError) -> Int {
        var scan = OTLPWireScan(
            bytes: bytes, depth: limits.depth, elements: OTLPElementCount(limit: limits.elements))
        try scan.message(from: 0, to: bytes.count, shape: shape, level: 1)
        return scan.elements.count
    }

    private mutating func message(from start: Int, to end: Int, shape: Int, level: Int) throws(OTLPError) {
        guard level <= depth else {
            throw OTLPError(.malformed, "The request has messages more than \(depth) deep.")
        }
        let fields = OTLPShape.all[shape]
        var place = start
        while place < end {
            let tag = try varint(&place, end)
            let content = fields.content(number: tag >> 3)
            switch tag & 7 {
            case 0:
                if content == .varints { try elements.add() }
                _ = try varint(&place, end)
            case 1: try skip(8, &place, end)
            case 5: try skip(4, &place, end)
            case 2:
                let length = try varint(&place, end)
                guard length <= UInt64(end - place) else { throw truncated(place) }
                let stop = place + Int(length)
                switch content {
                case .message(let inner):
                    try elements.add()
                    try message(from: place, to: stop, shape: inner, level: level + 1)
                case .varints: try elements.add(lastBytes(from: place, to: stop))
                case .list: try elements.add()
                case .plain, .enumeration, .identifier, nil: break
                }
                place = stop
            default:
                throw OTLPError(
                    .malformed,
                    "The request is not \(OTLPShape.all[shape].name): byte \(place) begins no field of Protobuf.")
            }
        }
    }

    /// How many numbers are packed here: each ends with a byte below 128.
    private func lastBytes(from start: Int, to end: Int) -> Int {
        var count = 0
        for place in start..<end where bytes[place] < 0x80 { count += 1 }
        return count
    }

    private func varint(_ place: inout Int, _ end: Int) throws(OTLPError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while place < end, shift < 64 {
            let byte = bytes[place]
            place += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw truncated(place)
    }

    private func skip(_ count: Int, _ place: inout Int, _ end: Int) throws(OTLPError) {
        guard end - place >= count else { throw truncated(place) }
        place += count
    }

    private func truncated(_ place: Int) -> OTLPError {
        OTLPError(.malformed, "The request is not Protobuf: a value ends before it should, at byte \(place).")
    }
}
