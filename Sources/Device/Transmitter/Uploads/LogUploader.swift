import FoundationEssentials
import Logging
import WireModel

/// Carries uploads of logs to the collector, chunk by chunk, under the transmitter's credential and gates.
///
/// The shell around `UploadStateMachine`. An upload is on disk before anybody is told that it was taken; how far it has
/// come is not: after a restart it is announced again, and the collector says what it lacks.
package actor LogUploader {
    /// Keeps all uploads; returns once they are on synced disk.
    package typealias Save = @Sendable ([LogUpload]) throws -> Void
    /// Hears of an upload that came further, waits for something else, or ended. Should only note and wake.
    package typealias Changed = @Sendable (LogUpload) async -> Void

    /// Closed gates are looked at this often while something waits.
    package static let gateLook = Duration.seconds(60)
    /// Waits are measured by a clock that suspend does not move; none is longer.
    private static let greatestPause = Duration.seconds(3600)

    private let transmitter: Transmitter
    private let source: any UploadSource
    private let save: Save
    private let changed: Changed
    /// Microseconds of the queue clock.
    private let now: @Sendable () -> Int64
    private let sleeper: any Clock<Duration>
    private let roll: @Sendable () -> Double
    private let logger: Logger
    private let wake = AsyncEvent()
    private var machine: UploadStateMachine

    /// - Parameters:
    ///   - uploads: as `save` was last given them.
    ///   - roll: random numbers, 0 up to 1, for the jitter.
    package init(
        transmitter: Transmitter, source: any UploadSource, uploads: [LogUpload], save: @escaping Save,
        changed: @escaping Changed,
        now: @escaping @Sendable () -> Int64, sleeper: any Clock<Duration> = ContinuousClock(),
        roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, logger: Logger
    ) {
        self.transmitter = transmitter
        self.source = source
        self.save = save
        self.changed = changed
        self.now = now
        self.sleeper = sleeper
        self.roll = roll
        self.logger = logger
        machine = UploadStateMachine(uploads)
    }

    /// Open ones and the last that ended, oldest first.
    package var uploads: [LogUpload] { machine.uploads }

    /// Takes an upload; it is on synced disk when this returns.
    ///
    /// - Returns: `false` where too many are open.
    /// - Throws: where it could not be kept; then it was not taken.
    package func add(_ upload: LogUpload) throws -> Bool {
        guard machine.add(upload) else { return false }
        do { try save(machine.uploads) } catch {
            machine.remove(upload.id)
            throw error
        }
        wake.signal()
        return true
    }

    /// Nobody wants it any more. Harmless where there is none, or it has ended.
    package func cancel(_ id: Data) async {
        guard let upload = machine[id], !upload.phase.isFinal else { return }
        machine.cancel(id)
        await tell(upload)
    }

    /// Nobody wants any of them any more.
    package func cancelAll() async {
        for upload in machine.uploads { await cancel(upload.id) }
    }

    /// Something that uploads wait for may have changed: network, settings.
    nonisolated package func lookAgain() { wake.signal() }

    /// Until its task is cancelled. Call once.
    package func run() async {
        while !Task.isCancelled { await wake.wait(for: await round(), clock: sleeper) }
    }

    /// Everything that can be done now.
    /// - Returns: how long nothing is to be done, unless something wakes.
    package func round() async -> Duration {
        while !Task.isCancelled {
            let time = now()
            let before = machine
            if machine.expire(now: time) { await tellDifferences(from: before) }
            guard let step = machine.next(now: time) else {
                return machine.dueAt.map { min(.microseconds(max(1000, $0 - time)), Self.greatestPause) }
                    ?? Self.greatestPause
            }
            if case .closed(let reason) = await transmitter.logGate() {
                let before = machine
                machine.waits(for: "\(reason)")
                await tellDifferences(from: before)
                return Self.gateLook
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
                    return await tell(upload)
                }
            } catch {
                machine.couldNotRead(step.upload, "\(error)", now: now(), roll: roll())
                return await tell(upload)
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
        // Given up with the program: it says nothing about the collector.
        guard !Task.isCancelled else { return }
        let acknowledged = transmitter.status.acknowledged.values.reduce(0, +)
        machine.answered(step, answer, acknowledged: acknowledged, now: now(), roll: roll())
        await tell(upload)
    }

    private func tellDifferences(from before: UploadStateMachine) async {
        for upload in before.uploads { await tell(upload) }
    }

    /// - Parameter before: as it was.
    private func tell(_ before: LogUpload) async {
        guard let upload = machine[before.id], upload != before else { return }
        // Only what a restart could not find out is kept.
        if upload.phase.isFinal || upload.gone != before.gone {
            do { try save(machine.uploads) } catch {
                logger.warning(
                    "how an upload ended could not be kept; it is announced again after a restart",
                    metadata: ["error": "\(error)"])
            }
        }
        if upload.phase.isFinal {
            logger.info("upload ended", metadata: ["phase": "\(upload.phase.rawValue)", "detail": "\(upload.detail)"])
        }
        await changed(upload)
    }
}
