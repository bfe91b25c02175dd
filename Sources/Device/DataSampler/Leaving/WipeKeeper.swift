import FoundationEssentials
import Logging
import RecordQueue
import Transmitter
import WireModel

/// Erases what the device keeps, and goes on after a crash at any point. Each step may be done twice.
///
/// The order: the note is on synced disk; producers are stopped; the queue counts what waits as `wiped` and closes the
/// epoch; kept state is removed; the result is told in the new epoch; the note goes and producers go on. The commands'
/// ledger, the identity and the profile survive.
actor WipeKeeper {
    private let file: StateFile<WipeNote>
    private let core: SamplerCore
    private let eraseLogs: EraseLogs
    private var note: WipeNote?
    /// Everything was erased since the note was written or found.
    private var isErased = false
    /// Erasing awaits, and an actor lets others in meanwhile: two at once would end two epochs.
    private let turnstile = AsyncMutex()

    /// Ends uploads and erases the log store; harmless twice.
    typealias EraseLogs = @Sendable () async throws(DataSamplerError) -> Void

    init(core: SamplerCore, eraseLogs: @escaping EraseLogs) {
        self.eraseLogs = eraseLogs
        file = WipeNote.file(in: core.configuration.directory)
        self.core = core
    }

    /// What is being erased; `nil`: nothing.
    var pending: WipeNote? { note }

    /// Goes on with what an earlier run of the program began, before anything is produced.
    ///
    /// - Parameter isOpen: whether a command is in the ledger and has no final state yet: then its runner asks for the
    ///   wipe again, and tells.
    func resume(isOpen: (Data) -> Bool) async throws(DataSamplerError) {
        // A damaged note still says that somebody asked for it, and what is erased twice is erased.
        let found: WipeNote?
        do { found = try file.load() } catch  where error.code == .storageDamaged {
            found = WipeNote(
                command: nil, reason: "the note was damaged", epoch: "\(core.queue.epoch)",
                noted: core.clock.now().wallTime)
        }
        guard let found else { return }
        core.changeGate { $0.isWiping = true }
        note = found
        try await erase()
        if found.command.map({ !isOpen($0) }) ?? true { try finish() }
    }

    /// Decides it: the note is on synced disk, then producers are stopped until `finish`. After an error nothing has
    /// changed.
    func begin(command: Data?, reason: String) throws(DataSamplerError) {
        if note == nil || note?.command != command {
            let new = WipeNote(
                command: command, reason: String(reason.prefix(1000)), epoch: "\(core.queue.epoch)",
                noted: core.clock.now().wallTime)
            try file.save(new)
            note = new
            isErased = false
            core.logger.warning("wiping", metadata: ["epoch": "\(new.epoch)"])
        }
        core.changeGate { $0.isWiping = true }
    }

    /// Erases what `begin` decided on; harmless where that has been done.
    func erase() async throws(DataSamplerError) {
        guard await turnstile.enter() else {
            throw DataSamplerError(.wipePending, "the wipe goes on later: the attempt was cancelled")
        }
        defer { turnstile.leave() }
        guard let note, !isErased else { return }
        do throws(QueueError) {
            if "\(core.queue.epoch)" == note.epoch {
                try await core.queue.endEpoch(.wiped)
            } else {
                // An earlier attempt has ended it, and perhaps came no further.
                try await core.queue.finishWipe()
            }
        } catch {
            throw DataSamplerError(error)
        }
        try core.eraseKeptState()
        try await eraseLogs()
        isErased = true
    }

    /// It has been told: the note goes, producers go on. Nothing happens before everything is erased.
    func finish() throws(DataSamplerError) {
        guard note != nil, isErased else { return }
        try file.file.remove()
        note = nil
        core.changeGate { $0.isWiping = false }
        core.notices.post(
            DataSamplerNotice(.wiped, "queue and kept state were erased; records go into epoch \(core.queue.epoch)"))
    }
}

/// `<data>/wipe.json`: that everything is to be erased. Written before anything is, and removed when it has been told.
struct WipeNote: Codable, Equatable, Sendable {
    static let fileName = "wipe.json"

    /// The command that asked for it, 16 bytes; `nil`: the program or a person here.
    var command: Data?
    /// As given, for status and log.
    var reason: String
    /// The epoch to end: where the queue has another one, that has been done.
    var epoch: String
    /// Wall clock, microseconds since 1970.
    var noted: Int64

    static func file(in directory: String) -> StateFile<WipeNote> { StateFile(directory: directory, name: fileName) }
}
