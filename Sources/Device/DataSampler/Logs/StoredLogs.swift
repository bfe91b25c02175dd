import Crypto
import FoundationEssentials
import LogStore
import RecordQueue
import Transmitter
import WireModel

/// Connects requests and uploads with the device's log store: it finds lines, cuts them into chunks, and makes the
/// chunks again when they are sent.
struct StoredLogs: UploadSource {
    let store: LogStore
    /// The bundle id that the device enrolled with. Segments without one belong to it.
    let application: String
    /// The device's name in file names.
    let device: @Sendable () -> String

    /// - Parameter since: an additional time limit in microseconds since 1970; `nil` for none.
    /// - Returns: one upload per type of log and program with matching lines, crashes first.
    func plan(_ request: LogRequest, since: Int64?) async throws(DataSamplerError) -> [PlannedLogs] {
        let filter = request.filter(since: since)
        var kinds: [SegmentName.Kind] = []
        if request.type != .application { kinds.append(.crash) }
        if request.type != .crash {
            kinds += request.includesRing ? [.application, .intake, .ring] : [.application, .intake]
        }
        let wanted = Set(kinds)
        return try await read { (snapshot) throws(LogStoreError) in
            var planned: [PlannedLogs] = []
            for type in [LogType.crash, .application] {
                let logs = try snapshot(wanted.filter { $0.type == type })
                let owners = Set(logs.segments.map { self.owner($0.name) }).filter { request.application ?? $0 == $0 }
                var plans = try owners.sorted().map { (owner) throws(LogStoreError) in
                    (
                        owner: owner,
                        plan: try Self.plan(logs.only { self.owner($0) == owner }, filter, request.maximumBytes)
                    )
                }
                Self.shorten(&plans, to: request.maximumBytes)
                for (owner, plan) in plans where !plan.chunks.isEmpty {
                    planned.append(try self.planned(plan, type, owner, epoch: logs.epoch))
                }
            }
            return planned
        }
    }

    /// The stored crashes.
    /// - Parameter known: ordinals to leave out.
    func crashes(besides known: Set<UInt64>) async throws(DataSamplerError) -> [CrashUpload] {
        try await read { (snapshot) throws(LogStoreError) in
            let all = try snapshot([.crash])
            var uploads: [CrashUpload] = []
            for segment in all.segments where !known.contains(segment.name.ordinal) {
                let plan = try Self.plan(all.only { $0 == segment.name }, LogFilter(), nil)
                guard !plan.chunks.isEmpty else { continue }
                uploads.append(
                    CrashUpload(
                        ordinal: segment.name.ordinal, present: Set(all.segments.map(\.name.ordinal)),
                        logs: try self.planned(plan, .crash, owner(segment.name), epoch: all.epoch),
                        time: segment.index.whole.times.upperBound))
            }
            return uploads
        }
    }

    func chunk(_ number: UInt32, of upload: LogUpload) async throws -> UploadContent {
        let plan = try JSONDecoder().decode(ChunkPlan.self, from: upload.plan)
        let manifest = try WireUploadManifest.decode(upload.manifest)
        guard number >= 1, number <= plan.chunks.count,
            let chunk = manifest.chunks.first(where: { $0.number == number })
        else { return .gone(.unreadable) }
        let planned = plan.chunks[Int(number) - 1]
        let directory = store.directory
        do {
            return try await BlockingWork.run { () throws(LogStoreError) in
                let reader = try ChunkReader(plan, in: directory)
                guard let data = try reader.gzip(planned, ifTextHas: chunk.rawDigest) else { return .gone(.unreadable) }
                return .compressed(data)
            }
        } catch {
            switch error.code {
            case .notFound: return .gone(.byteCap)
            case .damaged: return .gone(.unreadable)
            default: throw error
            }
        }
    }

    // MARK: Planning

    private struct Logs {
        var snapshot: StoreSnapshot
        var epoch: LogEpochID
        var segments: [StoreSnapshot.Segment] { snapshot.segments }
        func only(where isIncluded: (SegmentName) -> Bool) -> Logs {
            Logs(snapshot: snapshot.only(where: isIncluded), epoch: epoch)
        }
    }

    private func owner(_ name: SegmentName) -> String { name.application.isEmpty ? application : name.application }

    /// Reads the store's present state outside of the threads that tasks share. A store without a directory is empty.
    private func read<Value: Sendable>(
        _ body:
            @escaping @Sendable ((Set<SegmentName.Kind>) throws(LogStoreError) -> Logs) throws(LogStoreError) -> [Value]
    ) async throws(DataSamplerError) -> [Value] {
        let store = store
        do throws(LogStoreError) {
            return try await BlockingWork.run { () throws(LogStoreError) in
                store.flush()
                do throws(LogStoreError) {
                    return try body { (kinds) throws(LogStoreError) in
                        let epoch = try store.directory.readState()?.epoch ?? .unknown
                        return Logs(
                            snapshot: try StoreSnapshot(store.directory, kinds: kinds, epoch: epoch), epoch: epoch)
                    }
                } catch {
                    if error.code == .notFound { return [] }
                    throw error
                }
            }
        } catch {
            throw DataSamplerError(error)
        }
    }

    /// - Parameter maximumBytes: chunks are cut no larger than that; `nil` for no limit.
    private static func plan(_ logs: Logs, _ filter: LogFilter, _ maximumBytes: UInt64?) throws(LogStoreError)
        -> ChunkPlan
    {
        // Unreadable parts are left out. `verify`, and gaps at the collector, reveal them.
        var problems = logs.snapshot.problems
        return try ChunkPlan(
            logs.snapshot, filter: filter,
            maximumBytes: min(LogLimits.chunkBytes, maximumBytes.map { Int(clamping: $0) } ?? .max),
            problems: &problems)
    }

    /// Keeps the newest chunks of all plans that together have at most so many bytes of text; `nil` for no limit.
    private static func shorten(_ plans: inout [(owner: String, plan: ChunkPlan)], to maximumBytes: UInt64?) {
        guard let maximumBytes else { return }
        var kept: UInt64 = 0
        let newestFirst = plans.flatMap(\.plan.chunks).sorted { $0.first > $1.first }
        let dropped = newestFirst.first { chunk in
            kept += UInt64(chunk.rawBytes)
            return kept > maximumBytes
        }
        guard let dropped else { return }
        for index in plans.indices { plans[index].plan.chunks.removeAll { $0.first <= dropped.first } }
    }

    private func planned(
        _ plan: ChunkPlan, _ type: LogType, _ owner: String, epoch: LogEpochID
    ) throws(LogStoreError) -> PlannedLogs {
        let reader = try ChunkReader(plan, in: store.directory)
        let name = ChunkName(application: store.applicationName, device: device())
        var chunks: [WireUploadChunk] = []
        for (index, planned) in plan.chunks.enumerated() {
            var chunk = WireUploadChunk()
            chunk.number = UInt32(index + 1)
            chunk.firstLine = planned.first
            chunk.lastLine = planned.last
            chunk.rawBytes = UInt32(planned.rawBytes)
            chunk.rawDigest = try reader.rawDigest(of: planned)
            chunk.fileName = name.file(index + 1, of: plan.chunks.count, planned, isCompressed: true)
            chunk.firstTime = planned.earliest
            chunk.lastTime = planned.latest
            chunks.append(chunk)
        }
        do {
            return PlannedLogs(
                type: type, application: owner, level: plan.filter.level, logEpoch: epoch.data, chunks: chunks,
                plan: try JSONEncoder().encode(plan))
        } catch {
            throw LogStoreError(.invalid, "a plan of chunks cannot be encoded: \(error)", cause: error)
        }
    }
}

/// The log store of a data directory in which no data sampler runs, for a command that logs and ends. It does not
/// acquire the queue's lock, because several programs may write to a store. It applies what a data sampler that starts
/// now would apply: the level and scrub rules of the last good profile, and the level of captures that still run.
package struct OfflineLogs {
    private let visitor: LogVisitor

    /// - Parameters:
    ///   - application: bundle id of the program that wrote the lines; empty for the configuration's.
    ///   - wallTime: now, microseconds since 1970.
    /// - Throws: `storageDamaged` if the profile is unreadable, so it is unknown what must not be written; `storage`.
    package init(
        _ configuration: DataSamplerConfiguration, application: String = "",
        wallTime: Int64 = SystemRecordClock().now().wallTime
    ) throws(DataSamplerError) {
        let seal = StateSeal.keepingForm(configuration.deviceKey, in: configuration.directory)
        let settings = DeviceSettings.resolve(local: configuration, profile: try Self.profile(seal))
        var configuration = configuration
        configuration.keys = seal.keys
        var store = LogStore.Configuration(configuration, applicationName: "ws1agent", applicationVersion: "")
        // A visitor makes no keys: where no agent has encrypted yet its lines are plain, and the next agent converts
        // them.
        store.isEncrypting = EncryptionMark.isOn(in: configuration.directory)
        if !application.isEmpty { store.applicationIdentifier = application }
        let isStopped = try Self.isStopped(configuration, seal) || Self.isDoNotDisturb(configuration, settings)
        store.level = LogLevels(
            settings: settings.logging, captures: Self.captures(seal, at: wallTime),
            isStopped: settings.telemetryDisabled || isStopped
        ).level(of: store.applicationIdentifier)
        store.scrubbing = settings.logging.scrubbing
        do { visitor = try LogVisitor(store) } catch { throw DataSamplerError(error) }
    }

    /// Writes lines. When it returns, the kernel has them, or the result says what became of them.
    package func deliver(_ entries: [LogEntry]) -> LogDelivery { visitor.deliver(entries) }

    /// The captures of an agent that was killed and has not been started again. Without a readable ledger there are
    /// none.
    private static func captures(_ seal: StateSeal, at wallTime: Int64) -> [LogLevelWish] {
        let ledger = try? LogRequestLedger.file(in: seal.directory, seal: seal).load()
        return ledger?.captures(wallTime: wallTime) ?? []
    }

    private static func profile(_ seal: StateSeal) throws(DataSamplerError) -> WireProfile? {
        let file = StoredProfile.file(in: seal.directory, seal: seal)
        guard let stored = try file.load() else { return nil }
        do { return try stored.validProfile() } catch {
            throw DataSamplerError(
                .storageDamaged, "\(file.file.path) contains no usable profile: start the agent, which fetches another")
        }
    }

    /// An unreadable decision counts as on, where the profile allows do-not-disturb.
    private static func isDoNotDisturb(_ configuration: DataSamplerConfiguration, _ settings: DeviceSettings) -> Bool {
        guard settings.doNotDisturbAllowed else { return false }
        do { return try DoNotDisturbState.file(in: configuration.directory).load()?.isOn ?? false } catch {
            return true
        }
    }

    /// A wipe or an unenrollment is under way, the device was unenrolled, or consent is denied. An unreadable file of
    /// either counts.
    private static func isStopped(
        _ configuration: DataSamplerConfiguration, _ seal: StateSeal
    ) throws(DataSamplerError) -> Bool {
        let directory = configuration.directory
        do { if try WipeNote.file(in: directory).load() != nil { return true } } catch { return true }
        do { if try LeaveNote.file(in: directory).load() != nil { return true } } catch { return true }
        // Where somebody holds the queue, or it cannot be read, the file alone decides.
        let copy = (try? RecordQueue.copy(of: .consent, inDirectory: directory)) ?? nil
        let decided = try ConsentStore(directory: directory).decided(copy: copy)
        if decided ?? configuration.initialConsent == .denied { return true }
        let identity = IdentityStore(
            directory: directory, machineHash: nil, enrollmentToken: configuration.enrollmentToken,
            request: WireEnrollRequest(), seal: seal)
        do {
            if case .unenrolled = try identity.state() { return try identity.enrollmentToken() == nil }
        } catch {
            throw (error as? DataSamplerError) ?? DataSamplerError(.identity, "\(error)", cause: error)
        }
        return false
    }
}
