import DeviceTunables
import FoundationEssentials
import Logging
import WireModel

/// Uploads logs to the collector, chunk by chunk, with the transmitter's credential and gates.
///
/// The shell around `UploadStateMachine`. An upload is on disk before anybody hears that it was accepted. Its progress
/// is not: after a restart it is announced again, and the collector says what it lacks.
package actor LogUploader {
    /// Stores all uploads, and returns when they are on synced disk.
    package typealias Save = @Sendable ([LogUpload]) throws -> Void

    package enum Event: Sendable {
        /// There is something to do: a round is due.
        case due
        /// An upload came further, waits for something else, or ended.
        case changed(LogUpload)
    }

    private let transmitter: Transmitter
    private let source: any UploadSource
    private let save: Save
    private let events: EventSink<Event>
    /// Microseconds of the queue clock.
    private let now: @Sendable () -> Int64
    private let roll: @Sendable () -> Double
    private let logger: Logger
    private var machine: UploadStateMachine

    /// - Parameters:
    ///   - uploads: those that `save` stored last.
    ///   - roll: random numbers, 0 up to 1, for the jitter.
    package init(
        transmitter: Transmitter, source: any UploadSource, uploads: [LogUpload], save: @escaping Save,
        events: EventSink<Event>, now: @escaping @Sendable () -> Int64,
        roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, logger: Logger
    ) {
        self.transmitter = transmitter
        self.source = source
        self.save = save
        self.events = events
        self.now = now
        self.roll = roll
        self.logger = logger
        machine = UploadStateMachine(uploads)
    }

    /// Open uploads and those that ended last, oldest first.
    package var uploads: [LogUpload] { machine.uploads }

    /// Accepts uploads, all of them or none. They are on synced disk when this returns, and a kill before it leaves
    /// none. So the lines of one request are never sent in part, or a second time with other ids.
    ///
    /// - Returns: `false` if too many would be open. Then none was accepted.
    /// - Throws: if they could not be stored; then none was accepted.
    package func add(_ uploads: [LogUpload]) throws -> Bool {
        let former = machine
        for upload in uploads {
            guard machine.add(upload) else {
                machine = former
                return false
            }
        }
        do { try save(machine.uploads) } catch {
            machine = former
            throw error
        }
        events.post(.due)
        return true
    }

    /// Cancels an upload. Does nothing if it does not exist or has ended.
    package func cancel(_ id: Data) {
        guard let upload = machine[id], !upload.phase.isFinal else { return }
        machine.cancel(id)
        report(upload)
    }

    package func cancelAll() { for upload in machine.uploads { cancel(upload.id) } }

    /// Everything that can be done now.
    /// - Returns: how long nothing is to be done, unless `due` is reported, or network or settings change.
    package func round() async -> Duration {
        while !Task.isCancelled {
            let time = now()
            let before = machine
            if machine.expire(now: time) { reportDifferences(from: before) }
            guard let step = machine.next(now: time) else {
                return machine.dueAt.map { min(.microseconds(max(1000, $0 - time)), Tunables.Uploads.longestPause) }
                    ?? Tunables.Uploads.longestPause
            }
            if case .closed(let reason) = await transmitter.logGate() {
                let before = machine
                machine.waits(for: "\(reason)")
                reportDifferences(from: before)
                return Tunables.Transmission.gateLook
            }
            await perform(step)
        }
        return .zero
    }

    private func perform(_ step: UploadStateMachine.Step) async {
        guard let upload = machine[step.upload] else { return }
        let path = "\(WireNames.uploadsPath)/\(UploadID(step.upload).map(\.description) ?? "")"
        let answer: CollectorAnswer
        switch step.request {
        case .announce: answer = await transmitter.request(.put, path, body: .message(upload.manifest))
        case .chunk(let number):
            do {
                switch try await source.chunk(number, of: upload) {
                case .compressed(let content):
                    answer = await transmitter.request(.put, "\(path)/chunks/\(number)", body: .gzipFile(content))
                case .gone(let reason):
                    machine.chunkWasGone(number, of: step.upload, reason: reason)
                    return report(upload)
                }
            } catch {
                machine.couldNotRead(step.upload, "\(error)", now: now(), roll: roll())
                return report(upload)
            }
        case .complete:
            var request = WireCompleteUpload()
            request.gone = upload.gone.map { gone in
                var chunk = WireGoneChunk()
                chunk.number = gone.number
                chunk.reason = WireDropReason(rawValue: gone.reason) ?? .unspecified
                return chunk
            }
            answer = await transmitter.request(.post, "\(path)/complete", body: .message(request.encoded))
        }
        // The program cancelled the request. That says nothing about the collector.
        guard !Task.isCancelled else { return }
        let acknowledged = transmitter.status.acknowledged.values.reduce(0, +)
        machine.answered(step, answer, acknowledged: acknowledged, now: now(), roll: roll())
        report(upload)
    }

    private func reportDifferences(from before: UploadStateMachine) { for upload in before.uploads { report(upload) } }

    /// - Parameter before: the former state.
    private func report(_ before: LogUpload) {
        guard let upload = machine[before.id], upload != before else { return }
        // Stores only what a restart could not find out.
        if upload.phase.isFinal || upload.gone != before.gone {
            do { try save(machine.uploads) } catch {
                logger.warning(
                    "the end of an upload could not be stored; it is reported again after a restart",
                    metadata: ["error": "\(error)"])
            }
        }
        if upload.phase.isFinal {
            logger.info("upload ended", metadata: ["phase": "\(upload.phase.rawValue)", "detail": "\(upload.detail)"])
        }
        events.post(.changed(upload))
    }
}
