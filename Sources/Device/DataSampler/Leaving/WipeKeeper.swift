import FoundationEssentials
import Logging
import RecordQueue
import Transmitter
import WireModel

/// Erases what the device stores, and continues after a crash at any point. Each step may be repeated.
///
/// The steps: store the note on synced disk; stop recording; tell the collector that a wipe is pending, which may take
/// ten seconds; count waiting records as `wiped` and close the epoch;
/// remove other stored state; record the result in the new epoch; remove the note and record again. The command ledger,
/// the identity and the profile survive.
actor WipeKeeper {
    private let file: StateFile<WipeNote>
    private let core: SamplerCore
    private let events: DeviceEvents
    private let announce: @Sendable () async -> Void
    private let eraseLogs: EraseLogs
    private var note: WipeNote?
    /// Everything was erased since the note was written or found.
    private var isErased = false
    /// Erasing awaits, and an actor admits other calls meanwhile. Two at once would end two epochs.
    private let turnstile = AsyncMutex()

    /// Ends uploads and erases the log store. May be repeated.
    typealias EraseLogs = @Sendable () async throws(DataSamplerError) -> Void

    /// - Parameter announce: tells the collector that a wipe is pending, within a bounded time.
    init(
        core: SamplerCore, events: DeviceEvents, announce: @escaping @Sendable () async -> Void = {},
        eraseLogs: @escaping EraseLogs
    ) {
        self.announce = announce
        self.eraseLogs = eraseLogs
        self.events = events
        file = WipeNote.file(in: core.configuration.directory)
        self.core = core
    }

    /// The wipe under way; `nil` for none.
    var pending: WipeNote? { note }

    /// Continues what an earlier run began, before anything is recorded.
    ///
    /// - Parameter isOpen: whether a command is in the ledger without a final state. Then its runner requests the wipe
    ///   again and reports the result.
    func resume(isOpen: (Data) -> Bool) async throws(DataSamplerError) {
        // A damaged note still shows that somebody requested it, and erasing twice does no harm.
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

    /// Erases everything; after an error it goes on by itself.
    /// - Parameter command: `nil`: asked for here.
    func wipe(command: Data?, reason: String) async throws(DataSamplerError) {
        let isNew = note == nil
        try begin(command: command, reason: reason)
        await events.report(.gateChanged)
        if isNew { await announce() }
        try await erase()
    }

    /// Goes on with one that has begun and met an error. Where a command is to be told of the end, its runner ends it.
    func goOn() async {
        guard let note else { return }
        do throws(DataSamplerError) {
            try await erase()
            if note.command == nil { try await wasReported() }
        } catch {
            core.logger.error("the wipe is not complete yet", metadata: ["reason": "\(error.message)"])
        }
    }

    /// Whoever asked was told: producers go on.
    func wasReported() async throws(DataSamplerError) {
        try finish()
        if note == nil { await events.report(.wipeEnded) }
    }

    /// Decides it: stores the note on synced disk, then stops recording until `finish`. After an error nothing has
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

    /// Erases what `begin` decided on. Does nothing if that is done.
    func erase() async throws(DataSamplerError) {
        guard await turnstile.enter() else {
            throw DataSamplerError(.wipePending, "the attempt was cancelled: the wipe goes on later")
        }
        defer { turnstile.leave() }
        guard let note, !isErased else { return }
        do throws(QueueError) {
            if "\(core.queue.epoch)" == note.epoch {
                try await core.queue.endEpoch(.wiped)
            } else {
                // An earlier attempt ended the epoch, and perhaps went no further.
                try await core.queue.finishWipe()
            }
        } catch {
            throw DataSamplerError(error)
        }
        try core.eraseKeptState()
        try await eraseLogs()
        isErased = true
    }

    /// The result was reported: removes the note, and recording continues. Does nothing before everything is erased.
    func finish() throws(DataSamplerError) {
        guard note != nil, isErased else { return }
        try file.file.remove()
        note = nil
        core.changeGate { $0.isWiping = false }
        core.notices.post(.wiped, "queue and kept state were erased; records go into epoch \(core.queue.epoch)")
    }
}

/// `<data>/wipe.json`: everything must be erased. Written before anything is erased, and removed when the result was
/// reported.
struct WipeNote: KeptState, Equatable {
    static let fileName = "wipe.json"

    /// The requesting command, 16 bytes; `nil` if the program or a person here requested it.
    var command: Data?
    /// The given reason, for status and log.
    var reason: String
    /// The epoch to end. If the queue has another one, this is done.
    var epoch: String
    /// Wall clock in microseconds since 1970.
    var noted: Int64
}
