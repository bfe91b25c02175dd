import FoundationEssentials

/// The identifiers of a trace and of a span, as log records and exemplars have them.
protocol OTLPTraced {
    var traceID: Data { get set }
    var spanID: Data { get set }
}

extension OTLPLogRecord: OTLPTraced {}
extension OTLPExemplar: OTLPTraced {}

extension OTLPTraced {
    /// Whether an identifier is there and is none: of another length, or all zeros. A receiver takes the item as not
    /// associated with a trace.
    var hasInvalidIdentifier: Bool {
        Self.isInvalid(traceID, length: 16) || Self.isInvalid(spanID, length: 8)
    }

    mutating func removeInvalidIdentifiers() {
        if Self.isInvalid(traceID, length: 16) { traceID = Data() }
        if Self.isInvalid(spanID, length: 8) { spanID = Data() }
    }

    private static func isInvalid(_ identifier: Data, length: Int) -> Bool {
        !identifier.isEmpty && (identifier.count != length || identifier.allSatisfy { $0 == 0 })
    }
}
