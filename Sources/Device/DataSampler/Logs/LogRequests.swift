import Crypto
import DeviceTunables
import FoundationEssentials
import Logging
import RecordQueue
import TelemetryBasics
import Transmitter
import WireModel

/// Carries out requests for logs from the collector and from this device's own programs. It captures for the requested
/// time, finds the lines, cuts them into chunks, and passes them to the uploader. What has begun continues after a
/// restart.
///
/// The shell around `LogRequestLedger`. It reports how each request does, for the command that asked.
actor LogRequests {
    private let file: StateFile<LogRequestLedger>
    private let planner: StoredLogs
    private let uploader: LogUploader
    private let core: SamplerCore
    private let events: DeviceEvents
    private var ledger: LogRequestLedger
    private var captures: [LogLevelWish] = []

    /// - Parameter ledger: as `file` was last given it.
    init(
        file: StateFile<LogRequestLedger>, ledger: LogRequestLedger, planner: StoredLogs, uploader: LogUploader,
        core: SamplerCore, events: DeviceEvents
    ) {
        self.file = file
        self.ledger = ledger
        self.planner = planner
        self.uploader = uploader
        self.core = core
        self.events = events
    }

    // MARK: Asking

    /// The levels that captures of an earlier run request.
    var running: [LogLevelWish] { ledger.captures }

    /// Begins a command's request. Does nothing if it has begun. The request is on synced disk when this returns.
    func begin(command: Data, _ wire: WireRequestLogs) async throws(DataSamplerError) {
        var next = ledger
        next.began(command, wire, queueTime: core.queueTime, wallTime: core.clock.now().wallTime)
        try keep(next)
        await followCapture()
        // After a restart it may have ended already.
        await follow(command)
        events.wake(.logRequests)
    }

    /// Cancels a command's request. Does nothing if it has ended.
    func cancel(command: Data) async {
        for upload in await uploads(of: command) { await uploader.cancel(upload.id) }
        forget(command)
        await followCapture()
    }

    /// Cancels all requests.
    func cancelAll() async { for entry in ledger.entries { await cancel(command: entry.command) } }

    /// Uploads the present lines for a program of this device.
    ///
    /// - Returns: ids of the uploads; empty if no line was found.
    func send(_ request: LogRequest) async throws(DataSamplerError) -> [Data] {
        try await upload(try await planner.plan(request, since: nil), command: Data())
    }

    // MARK: Going on

    /// Does everything that can be done now.
    /// - Returns: how long there is nothing to do unless something wakes it.
    func round() async -> Duration {
        await followCapture()
        var next = ledger
        if next.capturesEnded(queueTime: core.queueTime) {
            do throws(DataSamplerError) { try keep(next) } catch { return wait(error) }
            await followCapture()
        }
        var pause = Duration.seconds(3600)
        do throws(DataSamplerError) { try await sendCrashes() } catch { pause = wait(error) }
        for entry in ledger.planning {
            do throws(DataSamplerError) { try await plan(entry) } catch {
                events.post(.commandWent(entry.command, .progressed(0, waitsFor: error.message)))
                pause = wait(error)
            }
        }
        guard let end = ledger.nextEnd else { return pause }
        return min(pause, .microseconds(max(1000, end - core.queueTime)))
    }

    private func wait(_ error: DataSamplerError) -> Duration {
        core.logger.warning("a request for logs cannot run yet", metadata: ["reason": "\(error.message)"])
        return Tunables.Commands.lookAgain
    }

    private func plan(_ entry: LogRequestLedger.Entry) async throws(DataSamplerError) {
        // After a restart between the two steps, an upload that was begun is not begun again.
        let begun = await uploads(of: entry.command).filter { $0.phase != .cancelled }
        var ids = begun.map(\.id)
        if begun.isEmpty {
            guard let request = (try? WireRequestLogs.decode(entry.request)).flatMap({ LogRequest($0) }) else {
                return end(entry.command, .failed, "it cannot be read any more")
            }
            guard case .planning(let since) = entry.phase else { return }
            let planned = try await planner.plan(request, since: since)
            // It was cancelled meanwhile.
            guard ledger[entry.command] != nil else { return }
            if let excess = Self.excess(planned) { return end(entry.command, .failed, excess) }
            ids = try await upload(planned, command: entry.command)
        }
        guard !ids.isEmpty else { return end(entry.command, .done, "no line matches") }
        var next = ledger
        next.planned(entry.command, uploads: ids)
        try keep(next)
        await follow(entry.command)
    }

    private func upload(_ planned: [PlannedLogs], command: Data) async throws(DataSamplerError) -> [Data] {
        guard !planned.isEmpty else { return [] }
        if let excess = Self.excess(planned) { throw DataSamplerError(.invalidArgument, excess) }
        let created = core.clock.now().wallTime
        let uploads = planned.map { upload($0, id: .random(), command: command, created: created) }
        try await add(uploads)
        return uploads.map(\.id)
    }

    /// Why a request has more uploads than can ever be under way together; `nil` if it has not. Waiting is of no use.
    private static func excess(_ planned: [PlannedLogs]) -> String? {
        guard planned.count > Tunables.Uploads.maximumOpen else { return nil }
        return
            "lines of \(planned.count) applications and types match, and at most \(Tunables.Uploads.maximumOpen) are "
            + "sent at a time: ask for one application"
    }

    private func upload(_ logs: PlannedLogs, id: UploadID, command: Data, created: Int64) -> LogUpload {
        var manifest = WireUploadManifest()
        manifest.uploadID = id.data
        manifest.application = logs.application
        manifest.type = logs.type.wire
        manifest.level = logs.level.wire
        manifest.commandID = command
        manifest.chunks = logs.chunks
        manifest.created = created
        manifest.logEpoch = logs.logEpoch
        return LogUpload(manifest: manifest, plan: logs.plan, accepted: core.queueTime)
    }

    private func add(_ uploads: [LogUpload]) async throws(DataSamplerError) {
        let isTaken: Bool
        do { isTaken = try await uploader.add(uploads) } catch {
            throw (error as? DataSamplerError) ?? DataSamplerError(.storage, "\(error)", cause: error)
        }
        guard isTaken else {
            throw DataSamplerError(
                .queueFull,
                "\(Tunables.Uploads.maximumOpen) uploads of logs are under way: wait for one to end, or cancel one")
        }
    }

    // MARK: Crashes

    /// Uploads stored crashes that are not being uploaded. The next round retries what fails.
    private func sendCrashes() async throws(DataSamplerError) {
        for crash in try await planner.crashes(besides: Set(ledger.sentCrashes)) {
            // The same crash gives the same upload, also if the program ends between the two steps.
            let seed = crash.logs.logEpoch + withUnsafeBytes(of: crash.ordinal.bigEndian) { Data($0) }
            guard let id = UploadID(Data(SHA256.hash(data: seed).prefix(16))) else { continue }
            try await add([upload(crash.logs, id: id, command: Data(), created: crash.time)])
            var next = ledger
            next.crashSent(crash.ordinal, present: crash.present)
            try keep(next)
        }
    }

    // MARK: Reporting

    /// An upload made progress, waits for something else, or ended.
    func changed(_ upload: LogUpload) async {
        guard let command = upload.command, ledger[command] != nil else { return }
        await follow(command)
    }

    private func follow(_ command: Data) async {
        guard case .uploading(let ids) = ledger[command]?.phase else { return }
        let uploads = await uploader.uploads.filter { ids.contains($0.id) }
        // Too many uploads have ended since, so the result is not known any more.
        guard uploads.count == ids.count else { return end(command, .failed, "its upload is no longer known") }
        if let failed = uploads.first(where: { $0.phase == .failed || $0.phase == .cancelled }) {
            for upload in uploads where !upload.phase.isFinal { await uploader.cancel(upload.id) }
            return end(command, .failed, failed.detail)
        }
        guard uploads.allSatisfy({ $0.phase == .done }) else {
            let chunks = uploads.reduce(0) { $0 + $1.chunkCount }
            let done = uploads.reduce(0) { $0 + Int($1.progress) * $1.chunkCount }
            let waitsFor = uploads.first { !$0.phase.isFinal }?.detail ?? ""
            let progress = UInt32(chunks == 0 ? 0 : done / chunks)
            return events.post(.commandWent(command, .progressed(progress, waitsFor: waitsFor)))
        }
        let chunks = uploads.reduce(0) { $0 + $1.chunkCount }
        let gone = uploads.reduce(0) { $0 + $1.gone.count }
        let bytes = uploads.reduce(UInt64(0)) { $0 + $1.rawBytes }
        end(
            command, .done,
            "\(CountText.of(chunks, "chunk")), \(CountText.of(bytes, "byte"))"
                + (gone == 0 ? "" : "; \(gone) of them were no longer on the device"))
    }

    private func end(_ command: Data, _ state: CommandLedgerStateMachine.State, _ detail: String) {
        events.post(.commandWent(command, .ended(state, detail)))
        forget(command)
    }

    private func uploads(of command: Data) async -> [LogUpload] {
        await uploader.uploads.filter { $0.command == command }
    }

    // MARK: Keeping

    private func keep(_ next: LogRequestLedger) throws(DataSamplerError) {
        guard next != ledger else { return }
        try file.save(next)
        ledger = next
    }

    private func forget(_ command: Data) {
        ledger.ended(command)
        do throws(DataSamplerError) { try file.save(ledger) } catch {
            // After a restart it is found to have ended.
            core.logger.warning(
                "the end of a request for logs could not be saved", metadata: ["reason": "\(error.message)"])
        }
    }

    private func followCapture() async {
        guard ledger.captures != captures else { return }
        captures = ledger.captures
        await events.report(.capturesChanged(captures))
    }
}

/// One crash that is uploaded by itself.
struct CrashUpload: Equatable, Sendable {
    /// The ordinal of its segment.
    var ordinal: UInt64
    /// Ordinals of all stored crashes.
    var present: Set<UInt64>
    var logs: PlannedLogs
    /// When it was found, in microseconds since 1970.
    var time: Int64
}

/// Lines of one type and one program that are cut into chunks and not uploaded yet.
struct PlannedLogs: Equatable, Sendable {
    var type: LogType
    /// Bundle id of the program that wrote them.
    var application: String
    var level: LogLevel
    /// The store that numbered the lines, 16 bytes.
    var logEpoch: Data
    var chunks: [WireUploadChunk]
    /// How to make the chunks again.
    var plan: Data
}
