import Foundation
import WireModel

/// The structure of a batch request, determined on its bytes before it is decoded. It counts the items, because two
/// bytes on the wire can become hundreds in memory. It also has the positions of the records, which are most of the
/// bytes and are not decoded.
struct BatchStructure: Equatable {
    static let maximumParts = 64
    static let maximumGaps = 4096
    static let maximumRecords = 100_000
    static let maximumCounts = 1024

    private(set) var parts = 0
    private(set) var gaps = 0
    private(set) var records = 0
    private(set) var counts = 0
    /// Positions in the body: part by part, the bytes of each record, and runs of all other fields. At most as many
    /// records as are accepted.
    private var pieces: [Piece] = []
    /// Fields beside the parts. The number of unknown ones is limited.
    private var rest: [Range<Int>] = []

    private struct Piece: Equatable {
        var records: [Range<Int>] = []
        var rest: [Range<Int>] = []
    }

    /// Scans a serialized `BatchRequest`; `nil` if it is malformed.
    init?(scanning request: Data) {
        let whole = request.withUnsafeBytes { bytes -> Bool in
            var scanner = ProtobufScanner(bytes)
            var start = 0
            while let field = scanner.next() {
                defer { start = scanner.position }
                guard field.number == 1 else {
                    if rest.count < Self.maximumCounts { rest.append(start..<scanner.position) }
                    continue
                }
                guard case .bytes(let range) = field.value else { return false }
                parts += 1
                guard scan(part: UnsafeRawBufferPointer(rebasing: bytes[range]), at: range.lowerBound) else {
                    return false
                }
            }
            return scanner.isAtEnd
        }
        guard whole else { return nil }
    }

    private mutating func scan(part: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        var scanner = ProtobufScanner(part)
        var piece = Piece()
        var restStart = 0
        var start = 0
        while let field = scanner.next() {
            switch (field.number, field.value) {
            case (7, _): gaps += 1
            case (8, .bytes(let range)):
                guard scan(totals: UnsafeRawBufferPointer(rebasing: part[range])) else { return false }
            case (9, .bytes(let range)):
                records += 1
                guard records <= Self.maximumRecords else { break }
                piece.records.append((offset + range.lowerBound)..<(offset + range.upperBound))
                if restStart < start { piece.rest.append((offset + restStart)..<(offset + start)) }
                restStart = scanner.position
            default: break
            }
            start = scanner.position
        }
        if restStart < start { piece.rest.append((offset + restStart)..<(offset + start)) }
        if parts <= Self.maximumParts { pieces.append(piece) }
        return scanner.isAtEnd
    }

    /// Decodes the scanned body. Records are slices of the body, so most of a request is not copied.
    /// - Throws: `WireError` if a field's value does not match its type.
    func decode(_ body: Data) throws(WireError) -> WireBatchRequest {
        var request = try WireBatchRequest.decode(envelope(of: body))
        for (position, piece) in pieces.enumerated() {
            request.parts[position].records = piece.records.map { body.slice($0) }
        }
        return request
    }

    /// The request without its records.
    private func envelope(of body: Data) -> Data {
        body.withUnsafeBytes { bytes in
            var envelope = ProtobufWriter(reserving: 512)
            for piece in pieces {
                envelope.present(field: 1, pieces: piece.rest.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
            }
            for range in rest { envelope.raw(UnsafeRawBufferPointer(rebasing: bytes[range])) }
            return Data(envelope.written)
        }
    }

    private mutating func scan(totals: UnsafeRawBufferPointer) -> Bool {
        var scanner = ProtobufScanner(totals)
        while scanner.next() != nil { counts += 1 }
        return scanner.isAtEnd
    }

    /// The problem if a count exceeds its limit.
    var problem: Problem? {
        if parts > Self.maximumParts { return .bodyTooLarge(limit: Self.maximumParts, "\(parts) parts") }
        if gaps > Self.maximumGaps { return .bodyTooLarge(limit: Self.maximumGaps, "\(gaps) gaps") }
        if records > Self.maximumRecords { return .bodyTooLarge(limit: Self.maximumRecords, "\(records) records") }
        if counts > Self.maximumCounts {
            return .bodyTooLarge(limit: Self.maximumCounts, "\(counts) counts in the totals")
        }
        return nil
    }
}
