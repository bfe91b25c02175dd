import FoundationEssentials
import LogStore
import RecordQueue
import Synchronization
import TelemetryBasics
import Transmitter
import WireModel

extension DataSampler {
    // MARK: Logs

    /// Relative to the data directory.
    package static let logDirectoryName = "logs"

    /// The log store: the configuration's, or the one that ``start()`` opened in `<directory>/logs`. Its level and
    /// scrub rules follow the profile. Log into it directly or through its swift-log handler; see `LogStore`.
    ///
    /// - Throws: `notRunning`.
    public func logs() throws(DataSamplerError) -> LogStore { try running().parts.logs.store }

    /// Uploads the stored log lines to the collector, chunk by chunk, also across a restart. Nothing is deleted here.
    ///
    /// - Parameters:
    ///   - level: include lines of this level and of more severe ones.
    ///   - type: `nil` includes both types.
    ///   - application: include lines of the program with this bundle id; `nil` of all.
    ///   - since: include lines from this time on; `nil` from the beginning.
    ///   - until: include lines before this time; `nil` to the end.
    ///   - whenAllowed: if logs may not use the present network, wait for one that is allowed instead of failing.
    /// - Returns: the number of bytes of text to upload; 0 if no line was found.
    /// - Throws: `networkNotAllowed` (ws1: logs over Wi-Fi only) with the reason, and the logs stay; `queueFull` if too
    ///   many uploads are open; `storage`, `invalidArgument`, `notRunning`.
    @discardableResult public func sendLogs(
        level: LogLevel = .verbose, type: LogType? = nil, application: String? = nil, since: Date? = nil,
        until: Date? = nil, whenAllowed: Bool = false
    ) async throws(DataSamplerError) -> UInt64 {
        let wire = WireRequestLogs(
            level: level, type: type, application: application, since: since, until: until)
        return try await sendLogs(wire, whenAllowed: whenAllowed).reduce(0) { $0 + $1.rawBytes }
    }

    /// Like ``sendLogs(level:type:application:since:until:whenAllowed:)``, and returns once the collector has all
    /// chunks.
    ///
    /// - Parameter limit: the longest wait.
    /// - Returns: the number of bytes of text that were uploaded; 0 if no line was found.
    /// - Throws: what ``sendLogs(level:type:application:since:until:whenAllowed:)`` throws; `notDelivered` with a
    ///   ``DeliveryFailure`` as its cause. Unless it is `refused`, the upload continues.
    @discardableResult public func sendLogs(
        level: LogLevel = .verbose, type: LogType? = nil, application: String? = nil, since: Date? = nil,
        until: Date? = nil, whenAllowed: Bool = false, deliveredWithin limit: Duration
    ) async throws(DataSamplerError) -> UInt64 {
        let wire = WireRequestLogs(
            level: level, type: type, application: application, since: since, until: until)
        let ids = try await sendLogs(wire, whenAllowed: whenAllowed).map(\.id)
        try await (try running()).delivery.wait(limit, for: "the upload of logs", stream: nil) {
            () async throws(DataSamplerError) in
            let uploads = try await logUploads(ids)
            if let lost = uploads.first(where: { [.failed, .cancelled].contains($0.phase) }) {
                throw DeliveryWatch.refused(
                    "the upload of logs", lost.phase == .cancelled ? "it was cancelled" : lost.detail)
            }
            return uploads.allSatisfy { $0.phase == .done }
        }
        return try await logUploads(ids).reduce(0) { $0 + $1.rawBytes }
    }

    /// - Returns: the uploads that carry the lines.
    package func sendLogs(_ wire: WireRequestLogs, whenAllowed: Bool) async throws(DataSamplerError) -> [LogUpload] {
        let running = try running()
        guard let request = LogRequest(wire), request.mode == .snapshot else {
            throw DataSamplerError(
                .invalidArgument, LogRequest.objection(to: wire) ?? "only a snapshot can be sent from here")
        }
        if !whenAllowed, case .closed(let reason) = await running.parts.transmitter.logGate() {
            throw DataSamplerError(
                .networkNotAllowed, "logs may not be sent now: \(reason). They stay on the device; try again later.")
        }
        let ids = try await running.parts.logRequests.send(request)
        return await running.parts.uploader.uploads.filter { ids.contains($0.id) }
    }

    /// Log uploads that are open, and those that ended last, oldest first.
    ///
    /// - Throws: `notRunning`.
    package func logUploads() async throws(DataSamplerError) -> [LogUpload] {
        await (try running()).parts.uploader.uploads
    }

    /// Uploads by their ids from ``logUploads()``. Uploads that ended long ago are missing.
    package func logUploads(_ ids: [Data]) async throws(DataSamplerError) -> [LogUpload] {
        try await logUploads().filter { ids.contains($0.id) }
    }

    /// Writes lines into the log store and reports what became of each. When it returns, the kernel has the written
    /// lines, whatever their level.
    ///
    /// - Parameter application: bundle id of the program that wrote them; empty for this one.
    /// - Throws: `notRunning`; `invalidArgument` for a bundle id that is too long; `storage` if no thread can be
    ///   started.
    package func deliverLogs(
        _ entries: [LogEntry], of application: String = ""
    ) async throws(DataSamplerError) -> LogDelivery {
        let logs = try running().parts.logs
        do throws(LogStoreError) {
            return try await BlockingWork.run { () throws(LogStoreError) in
                try logs.deliver(entries, of: application)
            }
        } catch {
            throw DataSamplerError(error.code == .invalid ? .invalidArgument : .storage, error.message, cause: error)
        }
    }

    // MARK: Putting together

    /// Requests for logs and what carries them.
    func logCarriers(
        _ core: SamplerCore, _ transmitter: Transmitter, _ events: DeviceEvents, _ logs: LogKeeper
    ) throws(DataSamplerError) -> (LogRequests, LogUploader) {
        let directory = configuration.directory
        let stored = StoredLogs(store: logs.store, application: configuration.applicationIdentifier) {
            (try? core.identity.load())?.map { "\($0.deviceID)" } ?? "device"
        }
        let uploadsFile = StateFile<[LogUpload]>(
            directory: directory, name: StateSeal.uploadsName, maximumBytes: 16 << 20, seal: core.seal)
        let uploads = try uploadsFile.loadOrKeepAsDamaged(damaged: notifier.postSetAside(StateSeal.uploadsName)) ?? []
        let uploader = LogUploader(
            transmitter: transmitter, source: stored, uploads: uploads, save: { try uploadsFile.save($0) },
            events: EventSink { event in
                switch event {
                case .due: events.wake(.uploads)
                case .changed(let upload): events.post(.uploadChanged(upload))
                }
            }, now: { core.queueTime }, roll: environment.roll, logger: core.logger)
        let requestsFile = LogRequestLedger.file(in: directory, seal: core.seal)
        let ledger =
            try requestsFile.loadOrKeepAsDamaged(damaged: notifier.postSetAside(LogRequestLedger.fileName))
            ?? LogRequestLedger()
        let requests = LogRequests(
            file: requestsFile, ledger: ledger, planner: stored, uploader: uploader, core: core, events: events)
        return (requests, uploader)
    }
}

extension WireRequestLogs {
    fileprivate init(level: LogLevel, type: LogType?, application: String?, since: Date?, until: Date?) {
        self.init()
        mode = .snapshot
        self.level = level.wire
        if let type { self.type = type.wire }
        self.application = application ?? ""
        if let since { self.since = Self.microseconds(since) }
        if let until { self.until = Self.microseconds(until) }
    }

    private static func microseconds(_ date: Date) -> Int64 {
        max(0, Timestamp.microseconds(ofSeconds: date.timeIntervalSince1970))
    }
}
