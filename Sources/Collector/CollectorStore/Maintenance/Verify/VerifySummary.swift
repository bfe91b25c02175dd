import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// The result of the last `ws1collector verify`, for the collector that serves the same data directory:
/// `<data>/verify.json`.
package struct VerifySummary: Equatable, Sendable, Codable {
    /// The most findings that are kept one by one.
    static let maximumFindings = 20
    private static let maximumBytes = 1 << 20

    /// Microseconds since 1970.
    package var begun: Int64
    package var ended: Int64
    package var files: Int
    package var chains: Int
    package var records: UInt64
    package var recordBytes: UInt64
    package var rejected: UInt64
    package var lostAtCollector: UInt64
    /// Of logs.
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
        findingCount = report.findings.count + report.furtherFindings
        findings = Array(report.findings.prefix(Self.maximumFindings))
    }

    /// Replaces the former result in one step. The file belongs to the directory's owner, whoever runs `verify`.
    package func write(directory: String) throws(StoreError) {
        let path = DataDirectory(path: directory).verificationPath
        let bytes: Data
        do { bytes = try JSONEncoder.stable(.prettyPrinted).encode(self) } catch {
            throw StoreError(.io, "the result cannot be written as JSON: \(error)")
        }
        let new = "\(path).new"
        try Files<StoreError>.write(bytes.bytes, to: new, sync: .content)
        var owner = stat()
        if geteuid() == 0, stat(directory, &owner) == 0 { _ = lchown(new, owner.st_uid, owner.st_gid) }
        try Files<StoreError>.rename(new, to: path)
        try Files<StoreError>.syncDirectory(of: path)
    }

    /// `nil` if `verify` has never ended here.
    /// - Throws: `.corrupt` for a file that is none of this version or of a later one.
    package static func read(directory: String) throws(StoreError) -> VerifySummary? {
        let path = DataDirectory(path: directory).verificationPath
        guard let bytes = try Files<StoreError>.read(path, maximumBytes: maximumBytes) else { return nil }
        do { return try JSONDecoder().decode(VerifySummary.self, from: Data(bytes)) } catch {
            throw StoreError(.corrupt, "\(path) cannot be read. `ws1collector verify` writes it anew.")
        }
    }
}

extension MetadataService {
    /// The result of the last `ws1collector verify` of this data directory; `nil` if there is none.
    package nonisolated func lastVerification() throws(StoreError) -> VerifySummary? {
        try VerifySummary.read(directory: directory.path)
    }
}
