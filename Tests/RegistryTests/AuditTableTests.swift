import CollectorAPI
import Foundation
import RegistryTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite("What displaces what in the audit trail", .eachRegistry) struct AuditTableTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let limit = 1000

    private func table() throws -> AuditTable {
        AuditTable(connection: try TestRegistry.session(directory: directory.path), limit: Self.limit)
    }

    private static let administrator = AuditActor(name: "eve", token: "t-admin", role: .administrator)
    private static let job = AuditActor(name: "eve", token: "t-admin", role: .administrator, job: "j1")
    private static let viewer = AuditActor(name: "vic", token: "t-viewer", role: .viewer)
    private static let `operator` = AuditActor(name: "olga", token: "t-operator", role: .operator)
    private static let jobOfOperator = AuditActor(name: "olga", token: "t-operator", role: .operator, job: "j2")

    private static func entry(
        _ action: AuditEntry.Action, by actor: AuditActor, subject: String = "s"
    ) -> AuditEntry {
        AuditEntry(action, by: actor, organization: "o", subject: subject)
    }

    /// What must stay, one of each class.
    private static let kept = [
        entry(.commandIssue, by: administrator), entry(.tokenCreate, by: .commandLine),
        entry(.deviceDelete, by: job), entry(.signIn, by: administrator), entry(.deviceReinstate, by: `operator`),
        entry(.commandIssue, by: .consequence, subject: "wiped"),
    ]

    private static let floods: [AuditEntry] = [
        entry(.signOut, by: viewer), entry(.commandIssue, by: viewer), entry(.commandIssue, by: jobOfOperator),
        entry(.commandIssue, by: .consequence, subject: "flapping"),
        .ofDevice(.deviceRotate, .random(), organization: "o", [:], leftOut: 0),
    ]

    @Test(arguments: floods) func `What one actor does displaces nothing of another`(flood: AuditEntry) throws {
        let table = try table()
        try table.connection.transaction { () throws(StoreError) in
            for entry in Self.kept { try table.append(entry, at: 5) }
            for _ in 0..<Self.limit + 200 { try table.append(flood, at: 5) }
        }
        let rows = try table.page(AuditQuery(organization: "o"), below: nil, limit: 100_000).rows.map(\.entry)
        #expect(Array(rows.reversed().prefix(Self.kept.count)) == Self.kept)
        let left = rows.count - Self.kept.count
        #expect((Self.limit - 1...Self.limit + 64).contains(left), "\(left)")
    }

    /// A full class is shared: each of its actors loses the oldest of what exceeds the others'.
    @Test func `A full class evicts from whoever has the most`() throws {
        let table = try table()
        let actors = (0..<3).map { AuditActor(name: "a\($0)", token: "t\($0)", role: .viewer) }
        let counts = [200, 450, 1000]
        try table.connection.transaction { () throws(StoreError) in
            for (actor, count) in zip(actors, counts) {
                for number in 0..<count {
                    try table.append(Self.entry(.commandIssue, by: actor, subject: "\(number)"), at: 5)
                }
            }
        }
        let rows = try table.page(AuditQuery(organization: "o"), below: nil, limit: 100_000).rows.map(\.entry)
        let left = actors.map { actor in rows.count { $0.actor == actor } }
        #expect(left[0] == 200 && left[1] == 400 && (400...464).contains(left[2]), "\(left)")
        #expect(rows.first { $0.actor == actors[1] }?.subject == "449", "the newest stay")
    }
}
