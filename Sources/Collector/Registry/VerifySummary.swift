import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// The result of the last `ws1collector verify`, for the collectors that serve the same data. It is in
/// `<data>/verify.json`, or in the registry of a cluster.
package struct VerifySummary: Equatable, Sendable, Codable {
    /// The most findings that are kept one by one.
    static let maximumFindings = 20

    /// Microseconds since 1970.
    package var begun: Int64
    package var ended: Int64
    package var files: Int
    package var chains: Int
    package var records: UInt64
    package var recordBytes: UInt64
    package var rejected: UInt64
    package var lostAtCollector: UInt64
    /// The chunks of logs.
    package var chunks: Int
    package var chunkBytes: UInt64
    /// All findings; 0 if nothing was found wrong.
    package var findingCount: Int
    package var findings: [VerifyReport.Finding]

    package init(_ report: VerifyReport, begun: Int64, ended: Int64) {
        self.begun = begun
        self.ended = ended
        files = report.files
        chains = report.chains
        records = report.records
        recordBytes = report.recordBytes
        rejected = report.rejected
        lostAtCollector = report.lostAtCollector
        chunks = report.chunks
        chunkBytes = report.chunkBytes
        findingCount = report.findingCount
        findings = Array(report.findings.prefix(Self.maximumFindings))
    }

    /// Replaces the former result.
    package func keep(in registry: any Registry) throws(StoreError) {
        let bytes: Data
        do { bytes = try JSONEncoder.stable(.prettyPrinted).encode(self) } catch {
            throw StoreError(.io, "the result cannot be written as JSON: \(error)")
        }
        try registry.keepVerification(bytes)
    }

    /// `nil` if `verify` has never ended.
    /// - Throws: `.corrupt` for a result that is none of this version or of a later one.
    package static func last(in registry: any Registry) throws(StoreError) -> VerifySummary? {
        guard let bytes = try registry.verification() else { return nil }
        do { return try JSONDecoder().decode(VerifySummary.self, from: bytes) } catch {
            throw StoreError(
                .corrupt, "the result of the last verification cannot be read. `ws1collector verify` writes it anew.")
        }
    }
}

extension MetadataService {
    /// The result of the last `ws1collector verify` of this data; `nil` if there is none.
    package nonisolated func lastVerification() async throws(StoreError) -> VerifySummary? {
        // Off Swift's threads, as a disk or a server may block.
        try await readers.read { [registry] _ throws(StoreError) in try VerifySummary.last(in: registry) }
    }
}
