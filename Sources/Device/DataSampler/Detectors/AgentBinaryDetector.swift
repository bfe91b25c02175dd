import Crypto
import FoundationEssentials
import Glibc
import SampleModules
import Synchronization
import TelemetryBasics
import WireModel

/// Compares the program's own file with the expected one.
///
/// Expected is the configured digest, or else the one recorded in `<data>/binary` when this release first started here.
/// The record reveals later changes, but none before it, and none by somebody who also rewrites the record. A new
/// release is recorded again. The file is read once per start, and again only if it changed.
final class AgentBinaryDetector: CompromiseDetector {
    struct Record: Codable, Equatable, Sendable {
        /// SHA-256, hexadecimal.
        var digest: String
        /// The release whose file has this digest.
        var release: String
    }

    static let recordName = "binary"
    static let executablePath = "/proc/self/exe"

    let name = BuiltInDetector.agentBinaryModified.rawValue
    /// The name for people: without the mark before it if the application has no version.
    private var releaseName: Substring { release.hasPrefix("/") ? release.dropFirst() : release[...] }
    private let host: any HostSource
    private let record: StateFile<Record>
    private let release: String
    private let expected: String?
    private let digest: @Sendable (String) -> String?
    private let last = Mutex<(status: FileStatus, digest: String)?>(nil)

    /// - Parameters:
    ///   - release: the program's release.
    ///   - expected: SHA-256 in hexadecimal; `nil` uses the record.
    ///   - digest: computes a file's digest in hexadecimal; `nil` if it cannot be read.
    init(
        host: any HostSource, directory: String, release: String, expected: String?,
        digest: @escaping @Sendable (String) -> String? = { FileDigest.sha256($0) }
    ) {
        self.host = host
        record = StateFile(directory: directory, name: Self.recordName)
        self.release = release
        self.expected = expected?.lowercased()
        self.digest = digest
    }

    func examine() -> CompromiseFinding? {
        guard let actual = currentDigest() else {
            return CompromiseFinding(.unknown, evidence: "the program's file \(Self.executablePath) could not be read")
        }
        if let expected {
            return actual == expected
                ? CompromiseFinding(.no, evidence: "the program's file is the expected one (SHA-256 \(actual))")
                : CompromiseFinding(.yes, evidence: "the program's file has SHA-256 \(actual), expected is \(expected)")
        }
        do throws(DataSamplerError) {
            if let recorded = try record.load(), recorded.release == release {
                return actual == recorded.digest
                    ? CompromiseFinding(
                        .no, evidence: "the program's file is as it was when release \(releaseName) first started here")
                    : CompromiseFinding(
                        .yes,
                        evidence:
                            """
                            the program's file of release \(releaseName) has SHA-256 \(actual), recorded is \
                            \(recorded.digest)
                            """
                    )
            }
            try record.save(Record(digest: actual, release: release))
            return CompromiseFinding(
                .no, evidence: "first start of release \(releaseName): its SHA-256 \(actual) is recorded now")
        } catch {
            return CompromiseFinding(
                .unknown, evidence: "the record of the program's file cannot be used: \(error.message)")
        }
    }

    private func currentDigest() -> String? {
        guard let status = host.fileStatus(Self.executablePath) else { return nil }
        if let known = last.withLock({ $0 }), known.status == status { return known.digest }
        guard let digest = digest(Self.executablePath) else { return nil }
        last.withLock { $0 = (status, digest) }
        return digest
    }
}

/// Computes the SHA-256 of a file of any size.
enum FileDigest {
    /// The digest in hexadecimal; `nil` if the file cannot be read to its end.
    static func sha256(_ path: String) -> String? {
        var hash = SHA256()
        do {
            try OpenFile<FileError>(path, O_RDONLY).forEachBlock { hash.update(bufferPointer: $0) }
        } catch { return nil }
        return Data(hash.finalize()).hexadecimal
    }
}
