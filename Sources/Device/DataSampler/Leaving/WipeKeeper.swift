import Encryption
import FoundationEssentials
import Logging
import RecordQueue
import Transmitter
import WireModel

/// Erases what the device stores, and continues after a crash at any point.
///
///     decision stored ─► producers stopped ─► collector informed ─► host has erased ─► inventory stored ─┐
///                        ┌───────────────────────────────────────────────────────────────────────────────┘
///                        └► keys destroyed ─► queue, state, logs erased; enterprise wipe: profile too ─► end stored ─┐
///                        ┌───────────────────────────────────────────────────────────────────────────────────────────┘
///                        ├► clear data:      result recorded ─► note removed, records go into the new epoch
///                        └► enterprise wipe: result recorded ─► LeaveKeeper begins ─► note removed
///
/// The decision is on synced disk before the first step, and every step may be repeated. So the next start goes on
/// where a crash came. Informing the collector that a wipe is pending may take ten seconds, and the host program may
/// hold the wipe for thirty.
///
/// After *clear data* the device is still enrolled. Command ledger, identity and profile survive. An *enterprise wipe*
/// ends the enrollment. It erases the data and the profile first, and keeps the credential for the result alone: until
/// the collector has it, or for a day. Before the enrollment ends, the result is in the queue, so it goes first.
///
/// The result carries a certificate (`WipeEvidence`). It is made of the note, which lists what is destroyed before that
/// begins. Once the end is stored nothing is erased again: new keys may then seal the result.
actor WipeKeeper {
    /// The longest time the host may hold a wipe.
    static let hostLimit = Duration.seconds(30)

    private let file: StateFile<WipeNote>
    private let core: SamplerCore
    private let events: DeviceEvents
    private let sleeper: any Clock<Duration>
    private let announce: @Sendable () async -> Void
    private let leave: Leave
    private let countLogSegments: CountLogSegments
    private let eraseParts: EraseParts
    private var note: WipeNote?
    /// Everything was erased since the decision was written or found.
    private var isErased = false
    /// Erasing awaits, and an actor admits other calls meanwhile. Two at once would end two epochs.
    private let mutex = AsyncMutex()

    /// Ends uploads and erases the log store, and the profile if the enrollment ends. May be repeated.
    typealias EraseParts = @Sendable (_ endsEnrollment: Bool) async throws(DataSamplerError) -> Void
    /// Counts the log segments on disk.
    typealias CountLogSegments = @Sendable () async -> Int
    /// Begins to end the enrollment. That is on synced disk when it returns. May be repeated.
    typealias Leave = @Sendable (_ deadline: Int64) async throws(DataSamplerError) -> Void

    /// - Parameters:
    ///   - announce: informs the collector that a wipe is pending, within a bounded time.
    ///   - leave: for an enterprise wipe whose result is recorded.
    init(
        core: SamplerCore, events: DeviceEvents, sleeper: any Clock<Duration> = ContinuousClock(),
        announce: @escaping @Sendable () async -> Void = {}, leave: @escaping Leave = { _ in },
        countLogSegments: @escaping CountLogSegments = { 0 }, eraseParts: @escaping EraseParts
    ) {
        self.sleeper = sleeper
        self.announce = announce
        self.leave = leave
        self.countLogSegments = countLogSegments
        self.eraseParts = eraseParts
        self.events = events
        file = WipeNote.file(in: core.configuration.directory)
        self.core = core
    }

    /// The wipe under way; `nil` for none.
    var pending: WipeNote? { note }

    /// Continues what an earlier run began, before anything is recorded.
    ///
    /// - Parameter isOwed: whether the command ledger has a command without a final state, or with one that must still
    ///   be reported. Then its runner requests the wipe again, or only reports the result.
    func resume(isOwed: (Data) -> Bool) async throws(DataSamplerError) {
        // A damaged file still shows that somebody requested it, and erasing twice does no harm. An enterprise wipe's
        // command is open, so it begins again.
        let found: WipeNote?
        do { found = try file.load() } catch  where error.code == .storageDamaged {
            found = WipeNote(
                command: nil, reason: "the note was damaged", epoch: "\(core.queue.epoch)",
                recorded: core.clock.now().wallTime)
        }
        guard let found else { return }
        core.changeGate { $0.isWiping = true }
        note = found
        isErased = found.ended != nil
        try await erase()
        if found.command.map({ !isOwed($0) }) ?? true { try await finish() }
    }

    /// Erases everything; after an error it goes on by itself.
    /// - Parameters:
    ///   - command: `nil`: asked for here.
    ///   - endsEnrollment: an enterprise wipe.
    func wipe(command: Data?, reason: String, endsEnrollment: Bool = false) async throws(DataSamplerError) {
        let isNew = note == nil
        try begin(command: command, reason: reason, endsEnrollment: endsEnrollment)
        await events.report(.gateChanged)
        if isNew { await announce() }
        try await erase()
    }

    /// Goes on with one that has begun and met an error. Where a command waits for the end, its runner ends it.
    func goOn() async {
        guard let note else { return }
        do throws(DataSamplerError) {
            try await erase()
            if note.command == nil { try await wasReported() }
        } catch {
            core.logger.error("the wipe is not complete yet", metadata: ["reason": "\(error.message)"])
        }
    }

    /// Whoever asked was informed: producers go on, or the enrollment ends.
    func wasReported() async throws(DataSamplerError) {
        try await finish()
        guard note == nil else { return }
        await events.report(.wipeEnded)
        events.wake(.unenrollment)
    }

    /// Decides it: stores the decision on synced disk, then stops recording until `finish`. After an error nothing has
    /// changed.
    func begin(command: Data?, reason: String, endsEnrollment: Bool = false) throws(DataSamplerError) {
        if note == nil || note?.command != command || (endsEnrollment && note?.leaveBy == nil) {
            var new = WipeNote(
                command: command, reason: String(reason.prefix(1000)), epoch: "\(core.queue.epoch)",
                recorded: core.clock.now().wallTime)
            // Clearing data does not cancel an enterprise wipe under way.
            new.leaveBy = note?.leaveBy ?? (endsEnrollment ? core.queueTime + LeaveNote.greatestWait : nil)
            // What one that is not complete has destroyed is destroyed by this one, which completes it.
            if let former = note, former.ended == nil { new.inventory = former.inventory }
            try file.save(new)
            note = new
            isErased = false
            core.logger.warning(
                "wiping", metadata: ["epoch": "\(new.epoch)", "endsEnrollment": "\(new.leaveBy != nil)"])
        }
        core.changeGate { $0.isWiping = true }
    }

    /// Erases what `begin` decided on. Does nothing if that is done.
    func erase() async throws(DataSamplerError) {
        guard await mutex.enter() else { throw Self.cancelled }
        defer { mutex.leave() }
        guard let note, !isErased else { return }
        try await waitForHost(note)
        try await takeInventory(of: note)
        // First, so that what a kill leaves of the files says nothing.
        let destroyed = try core.destroyKeys()
        // One that was made since the list is only in memory until the end is stored.
        if self.note?.isSame(as: note) == true { self.note?.inventory?.add(keys: destroyed) }
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
        try await eraseParts(note.leaveBy != nil)
        try conclude(note)
    }

    /// Notes what is about to be destroyed.
    private func takeInventory(of note: WipeNote) async throws(DataSamplerError) {
        let keys = core.keys.inventory()
        var inventory: WipeInventory
        if let known = note.inventory {
            inventory = known
        } else {
            inventory = WipeInventory(epochs: [], records: 0, logSegments: await countLogSegments())
        }
        if !inventory.epochs.contains(note.epoch) {
            inventory.epochs.append(note.epoch)
            // An attempt of a former version may have ended the epoch already.
            if note.epoch == "\(core.queue.epoch)" { inventory.records += try await waitingRecords() }
        }
        inventory.add(keys)
        guard var held = self.note, held.isSame(as: note), held.inventory != inventory else { return }
        held.inventory = inventory
        self.note = held
        do throws(DataSamplerError) { try file.save(held) } catch {
            // A full disk must not stop a wipe, which makes room. Only a kill now would cost the certificate its list.
            core.logger.warning("the keys to destroy are not noted", metadata: ["reason": "\(error.message)"])
        }
    }

    private func waitingRecords() async throws(DataSamplerError) -> UInt64 {
        do throws(QueueError) {
            let queue = try await core.queue.status()
            return queue.streams.values.reduce(UInt64(queue.buffered)) { $0 + $1.waiting + $1.apart }
        } catch { throw DataSamplerError(error) }
    }

    /// Everything is erased. From now on keys may be made again, also for the result.
    private func conclude(_ note: WipeNote) throws(DataSamplerError) {
        // Another one began meanwhile.
        guard var held = self.note, held.isSame(as: note) else { return }
        held.ended = core.clock.now().wallTime
        held.isKeyFileLeft = core.keys.isKeyFileLeft
        // If this is not on disk, the next start would erase what is made from now on.
        try file.save(held)
        self.note = held
        isErased = true
        core.keys.renew()
    }

    /// The evidence of a wipe that has erased everything and is not reported yet; `nil` if there is none.
    ///
    /// - Parameter command: `nil`: asked for here.
    func evidence(of command: Data?) -> WipeEvidence? {
        guard let note, note.command == command, isErased else { return nil }
        return WipeEvidence(of: note, by: core)
    }

    /// Lets the host program erase its own data, for a bounded time. A kill meanwhile repeats it; afterwards it is not
    /// repeated.
    private func waitForHost(_ note: WipeNote) async throws(DataSamplerError) {
        guard note.isHostErased != true, let eraseHostData = core.configuration.eraseHostData else { return }
        let wipe = DataSamplerWipe(reason: note.reason, endsEnrollment: note.leaveBy != nil)
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        // Tasks of their own on purpose: a call that never returns, cancelled or not, must not hold the wipe up.
        let call = Task {
            await eraseHostData(wipe)
            continuation.yield()
        }
        let timer = Task { [sleeper] in
            try? await sleeper.sleep(for: Self.hostLimit)
            continuation.finish()
        }
        let hasReturned = await ended.first { _ in true } != nil
        call.cancel()
        timer.cancel()
        guard !Task.isCancelled else { throw Self.cancelled }
        if !hasReturned {
            core.logger.warning(
                "the program has not erased its own data in time; the wipe goes on",
                metadata: ["seconds": "\(Self.hostLimit.components.seconds)"])
        }
        guard var held = self.note, held.isSame(as: note) else { return }
        held.isHostErased = true
        self.note = held
        do throws(DataSamplerError) { try file.save(held) } catch {
            // Erasing goes on. A restart asks the program once more.
            core.logger.warning("the progress of the wipe was not stored", metadata: ["reason": "\(error.message)"])
        }
    }

    private static var cancelled: DataSamplerError {
        DataSamplerError(.wipePending, "the attempt was cancelled: the wipe goes on later")
    }

    /// The result was reported: removes the file, and recording continues or the enrollment ends. Does nothing before
    /// everything is erased.
    func finish() async throws(DataSamplerError) {
        guard let done = note, isErased else { return }
        if let deadline = done.leaveBy { try await leave(deadline) }
        guard note == done else { return }
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
    var recorded: Int64
    /// An enterprise wipe: when the credential is erased although nobody could be informed, on the queue's clock.
    /// `nil`: the device stays enrolled.
    var leaveBy: Int64?
    /// The host program has erased its own data, or its time is over.
    var isHostErased: Bool?
    /// What is destroyed, for the certificate; `nil` until that begins.
    var inventory: WipeInventory?
    /// Everything was erased, and is not erased again; wall clock in microseconds since 1970.
    var ended: Int64?
    /// A key file could not be destroyed.
    var isKeyFileLeft: Bool?

    /// Whether both are one wipe, perhaps at different steps.
    func isSame(as other: WipeNote) -> Bool {
        command == other.command && recorded == other.recorded && epoch == other.epoch && leaveBy == other.leaveBy
    }
}
