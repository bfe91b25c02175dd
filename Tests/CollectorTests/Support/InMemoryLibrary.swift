import Collector
import Foundation
import Synchronization
import WireModel

@testable import CollectorStore

/// Profiles and commands in memory, for tests of what rides on a batch's answer. What people do with them is tested
/// over the real registry.
final class InMemoryLibrary: ProfileRegistry, CommandRegistry {
    struct State {
        var revision: UInt64 = 7
        var rows: [ProfileRow] = []
        var commands: [DeviceID: [WireCommand]] = [:]
        var issued: [CommandRow] = []
        var results: [WireCommandResult] = []
    }

    private let state = Mutex(State())

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var results: [WireCommandResult] { state.withLock { $0.results } }

    func profileRevision(of scope: ProfileScope) async throws(StoreError) -> UInt64 { state.withLock { $0.revision } }

    func deviceProfile(of scope: ProfileScope) async throws(StoreError) -> DeviceProfile {
        var profile = WireProfile()
        profile.revision = state.withLock { $0.revision }
        profile.organization = scope.organization
        return DeviceProfile(revision: profile.revision, bytes: profile.encoded)
    }

    func profile(_ scope: ProfileScope, revision: UInt64?) async throws(StoreError) -> ProfileRow? {
        state.withLock { $0.rows.last { $0.scope == scope && (revision == nil || $0.revision == revision) } }
    }

    func profileRevisions(
        organization: String, application: String?, below revision: UInt64?, limit: Int
    ) async throws(StoreError) -> ProfilePage {
        ProfilePage(
            revisions: state.withLock { $0.rows.reversed().filter { $0.scope.organization == organization } }, next: nil
        )
    }

    func putProfile(
        _ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow {
        state.withLock { state in
            state.revision += 1
            let row = ProfileRow(
                scope: scope, revision: state.revision, profile: profile, created: Harness.now, author: author.name)
            state.rows.append(row)
            return row
        }
    }

    func rollBackProfile(
        _ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow? { nil }

    func previewProfile(
        _ profile: WireProfile, _ scope: ProfileScope, application: String
    ) async throws(ProfileError) -> WireProfile { profile }

    func profileAdoption(organization: String) async throws(StoreError) -> [ProfileAdoption] { [] }

    func issue(_ command: NewCommand, organization: String?) async throws(IssueError) -> (row: CommandRow, isNew: Bool)
    {
        var wire = WireCommand()
        wire.id = CommandID.random().data
        wire.action = command.action
        let row = CommandRow(
            device: command.device, command: wire, created: Harness.now, expires: command.expires,
            issuer: command.issuer.name,
            status: CommandStatus())
        state.withLock { state in
            state.commands[command.device, default: []].append(wire)
            state.issued.append(row)
        }
        return (row, true)
    }

    func commands(of device: DeviceID, below position: CommandPosition?, limit: Int) async throws(StoreError)
        -> CommandPage
    {
        CommandPage(commands: [], next: nil)
    }

    func command(_ id: CommandID, of device: DeviceID) async throws(StoreError) -> CommandRow? {
        state.withLock { $0.issued.first { $0.device == device && $0.command.id == id.data } }
    }

    func openCommands(of device: DeviceRow, at now: Int64) -> [WireCommand] {
        state.withLock { $0.commands[device.id] ?? [] }
    }

    func noteResults(_ results: [WireCommandResult], of device: DeviceID, at now: Int64) {
        state.withLock { $0.results += results }
    }
}
