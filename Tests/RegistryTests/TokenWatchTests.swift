import CollectorAPI
import Foundation
import RegistryTestKit
import StoreTestKit
import Synchronization
import TestKit
import Testing

@testable import LogArchive
@testable import Registry

@Suite(.eachRegistry) struct TokenWatchTests {
    private static let day: Int64 = 86_400 * 1_000_000
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func lasting() async throws -> [(subject: String, detail: String)] {
        let archive = try LogArchive.open(directory: directory.path, clock: clock, logger: quietLogger)
        let page = try await NoticeService(metadata: archive.metadata).page(organization: nil, below: nil, limit: 100)
        await archive.close()
        return page.rows.filter { $0.code == .tokenExpiry && $0.ended == nil }.map { ($0.subject, $0.detail) }
    }

    private func token(
        _ id: String, endsInDays days: Double?, role: PersonRole = .administrator, organization: String? = nil
    ) -> TokenRow {
        TokenRow(
            id: id, kind: .person, name: "administrator", role: role, organization: organization, created: 0,
            expires: days.map { clock.now() + Int64($0 * Double(Self.day)) }, uses: 0)
    }

    @Test func `The end of the last administrator's token is reported until another is made`() async throws {
        let service = try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
        let tokens = Mutex<[TokenRow]>([])
        let watch = TokenWatch(place: "--data /data", notices: service, clock: clock, logger: quietLogger) {
            tokens.withLock { $0 }
        }
        func subjects(_ rows: [TokenRow]) async throws -> [String] {
            tokens.withLock { $0 = rows }
            await watch.look()
            return try await lasting().map(\.subject).sorted()
        }
        #expect(try await subjects([token("a", endsInDays: 31)]) == [])
        #expect(
            try await subjects([token("a", endsInDays: 30)]) == ["administrator's token administrator (a), 30 days"])
        #expect(
            try await lasting().first?.detail.contains(
                "ws1collector token create --role administrator --name administrator --expires 365d --data /data")
                == true)
        #expect(
            try await subjects([token("a", endsInDays: 6.9)]) == ["administrator's token administrator (a), 7 days"])
        #expect(try await subjects([token("a", endsInDays: -1)]) == ["administrator's token administrator (a), 7 days"])
        // Others do not help: viewers, those that end as soon, those of one organization, those that were revoked.
        var revoked = token("r", endsInDays: nil)
        revoked.revoked = clock.now()
        let others = [
            token("v", endsInDays: nil, role: .viewer), token("b", endsInDays: 3),
            token("o", endsInDays: nil, organization: "one"),
            revoked,
        ]
        #expect(
            try await subjects([token("a", endsInDays: 5)] + others) == [
                "administrator's token administrator (a), 7 days"
            ])
        #expect(try await subjects([token("a", endsInDays: 5), token("n", endsInDays: 365)]) == [])
        #expect(try await subjects([token("a", endsInDays: 5), token("n", endsInDays: nil)]) == [])
        // Of an organization that has administrators of its own.
        #expect(
            try await subjects([token("n", endsInDays: nil), token("o", endsInDays: 20, organization: "one")])
                == ["administrator's token administrator (o), 30 days"])
        #expect(try await lasting().first?.detail.contains("--organization one ") == true)
    }

    @Test func `The first token of an administrator is good for a year`() async throws {
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let token = try #require(created?.administratorToken)
        let row = try #require(try await metadata.tokens().first { $0.role == .administrator })
        #expect(row.expires == clock.now() + 365 * Self.day)
        let person = try #require(try await metadata.authenticatePerson(token: token))
        // What it makes without saying an end lives as long; a longer life is refused.
        let made = try await metadata.createToken(
            NewToken(.person(.viewer), name: "v", organization: nil), by: AuditActor(person))
        #expect(made.row.expires == row.expires)
        await #expect(throws: AdministrationError.self) {
            try await metadata.createToken(
                NewToken(.person(.viewer), name: "v", organization: nil, expiresInSeconds: 366 * 86_400),
                by: AuditActor(person))
        }
        await metadata.close()
    }
}
