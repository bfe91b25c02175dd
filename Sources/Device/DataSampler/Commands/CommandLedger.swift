/// `<data>/commands.json`: what became of each command, until it expires.
///
/// A damaged file is quarantined and counts as empty. That is safe for the one command that must not be replayed, the wipe, because its own note
/// and the enrollment it belongs to are kept elsewhere; others run once more.
struct CommandLedger: Codable, Equatable, Sendable {
    static let fileName = "commands.json"

    var machine = CommandLedgerStateMachine()

    static func file(in directory: String) -> StateFile<CommandLedger> { StateFile(directory: directory, name: fileName) }
}
