import CollectorAPI
import Foundation
import Logging

@testable import LogArchive
@testable import RecordStore
@testable import Registry

/// The metadata service and the log archive in a directory of its own, which goes with the last who uses it. Tests know
/// its tokens: `viewer-default`, `operator-other`, `administrator-all`, `enroll-default`, `enroll-expired` and so on.
final class TestMetadata: Sendable {
    let directory: String
    let service: MetadataService
    let archive: LogArchive

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// - Parameter chunks: makes the chunk store of the directory's.
    init(chunks: (DirectoryChunkStore) -> any ChunkStore = { $0 }) {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("collector-\(UUID())").path
        do {
            let clock = SteppedClock()
            service = try MetadataService.open(directory: directory, clock: clock, logger: Self.logger).0
            let connection = try SQLiteRegistry(directory: directory).openWriting()
            try connection.transaction { () throws(StoreError) in
                _ = try MetadataService.insertOrganization("other", at: Harness.now, into: connection)
                for token in Self.tokens {
                    try MetadataService.insertToken(token, hash: Secret.hash(of: token.id), into: connection)
                }
            }
            var configuration = LogArchive.Configuration()
            configuration.leastFreeBytes = 0
            archive = try LogArchive.open(
                metadata: service, chunks: chunks(DirectoryChunkStore(directory: DataDirectory(path: directory))),
                configuration: configuration, logger: Self.logger)
        } catch { preconditionFailure("no metadata for a test in \(directory): \(error)") }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// Each token's text is its id.
    private static var tokens: [TokenRow] {
        var tokens: [TokenRow] = []
        for organization in ["default", "other"] {
            tokens.append(
                TokenRow(
                    id: "enroll-\(organization)", kind: .enrollment, name: "", organization: organization, created: 0,
                    uses: 0))
            for role in PersonRole.allCases {
                tokens.append(
                    TokenRow(
                        id: "\(role)-\(organization)", kind: .person, name: "\(role)", role: role,
                        organization: organization, created: 0, uses: 0))
            }
        }
        tokens.append(
            TokenRow(
                id: "enroll-expired", kind: .enrollment, name: "", organization: "default", created: 0,
                expires: Harness.now - 1, uses: 0))
        tokens.append(
            TokenRow(
                id: "administrator-all", kind: .person, name: "administrator", role: .administrator, created: 0, uses: 0
            ))
        return tokens
    }
}
