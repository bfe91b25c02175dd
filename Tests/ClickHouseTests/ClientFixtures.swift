import ClickHouse
import ClickHouseTestKit
import Foundation
import Logging
import Synchronization

/// What tests with real servers share.
enum ClientFixtures {
    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// A name that no other test uses.
    static func tableName() -> String {
        "t_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
    }

    static func configuration(
        _ urls: [String], querySeconds: Int = 20, insertSeconds: Int = 20
    ) -> ClickHouseConfiguration {
        var configuration = ClickHouseConfiguration(urls: urls)
        configuration.queryTimeoutSeconds = querySeconds
        configuration.insertTimeoutSeconds = insertSeconds
        return configuration
    }

    /// Runs `body` with a client of its own.
    static func withClient<Result>(
        _ configuration: ClickHouseConfiguration, clock: ManualClock = ManualClock(),
        _ body: (ClickHouseClient) async throws -> Result
    ) async throws -> Result {
        let client = try ClickHouseClient(configuration, logger: logger, now: { clock.now })
        do {
            let result = try await body(client)
            await client.shutDown()
            return result
        } catch {
            await client.shutDown()
            throw error
        }
    }

    /// Rows of the columns `number UInt64, text String`.
    static func rows(_ count: Int, from first: UInt64 = 0, bytes: Int = 10, random: Bool = false) -> RowBinaryWriter {
        var writer = RowBinaryWriter()
        var text = [UInt8](repeating: UInt8(ascii: "x"), count: bytes)
        for index in 0..<count {
            writer.uint64(first + UInt64(index))
            if random { for place in text.indices { text[place] = .random(in: .min ... .max) } }
            writer.string(text)
            writer.rowEnded()
        }
        return writer
    }

    static let columns = ["number", "text"]
    static let columnTypes = "number UInt64, text String"
    /// Settings of an insert that two replicas must have.
    static let quorum = ClickHouseInsertSettings(
        quorum: 2, engine: ClickHouseEngineVersion(major: 18, minor: 16)
    ).values
    /// The same, for a replica that looks for work again after some ten seconds.
    static let patientQuorum = ClickHouseInsertSettings(
        quorum: 2, engine: ClickHouseEngineVersion(major: 18, minor: 16), quorumTimeoutSeconds: 50
    ).values
    /// The same, with a short wait.
    static let shortQuorum = ClickHouseInsertSettings(
        quorum: 2, engine: ClickHouseEngineVersion(major: 18, minor: 16), quorumTimeoutSeconds: 2
    ).values
}

/// A clock that passes when asked to.
final class ManualClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    var now: ContinuousClock.Instant { instant.withLock { $0 } }

    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
}

extension InsertOutcome {
    var isStored: Bool { if case .stored = self { true } else { false } }
    /// The error if nothing was stored.
    var notStored: ClickHouseError? { if case .notStored(let error) = self { error } else { nil } }
    var unknown: ClickHouseError? { if case .unknown(let error) = self { error } else { nil } }
}
