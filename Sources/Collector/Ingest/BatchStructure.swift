import Foundation
import WireModel

/// How many things a batch request holds, counted on its bytes before it is decoded: two bytes on the wire can become hundreds in memory.
struct BatchStructure: Equatable {
    static let maximumParts = 64
    static let maximumGaps = 4096
    static let maximumRecords = 100_000
    static let maximumCounts = 1024

    private(set) var parts = 0
    private(set) var gaps = 0
    private(set) var records = 0
    private(set) var counts = 0

    /// Scans a serialized `BatchRequest`. `nil` where it is not protobuf.
    init?(scanning request: Data) {
        let whole = request.withUnsafeBytes { bytes -> Bool in
            var scanner = ProtobufScanner(bytes)
            while let field = scanner.next() {
                guard field.number == 1 else { continue }
                guard case .bytes(let range) = field.value else { return false }
                parts += 1
                guard scan(part: UnsafeRawBufferPointer(rebasing: bytes[range])) else { return false }
            }
            return scanner.isAtEnd
        }
        guard whole else { return nil }
    }

    private mutating func scan(part: UnsafeRawBufferPointer) -> Bool {
        var scanner = ProtobufScanner(part)
        while let field = scanner.next() {
            switch (field.number, field.value) {
            case (7, _): gaps += 1
            case (8, .bytes(let range)):
                guard scan(totals: UnsafeRawBufferPointer(rebasing: part[range])) else { return false }
            case (9, _): records += 1
            default: continue
            }
        }
        return scanner.isAtEnd
    }

    private mutating func scan(totals: UnsafeRawBufferPointer) -> Bool {
        var scanner = ProtobufScanner(totals)
        while scanner.next() != nil { counts += 1 }
        return scanner.isAtEnd
    }

    /// The problem where a count is over its limit.
    var problem: Problem? {
        if parts > Self.maximumParts { return .bodyTooLarge(limit: Self.maximumParts, "\(parts) parts") }
        if gaps > Self.maximumGaps { return .bodyTooLarge(limit: Self.maximumGaps, "\(gaps) gaps") }
        if records > Self.maximumRecords { return .bodyTooLarge(limit: Self.maximumRecords, "\(records) records") }
        if counts > Self.maximumCounts { return .bodyTooLarge(limit: Self.maximumCounts, "\(counts) counts in the totals") }
        return nil
    }
}
