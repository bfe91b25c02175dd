import RecordStore
import Synchronization
import WireModel

/// How many bytes of records devices and organizations have stored today, in memory. It answers before a body is read.
///
/// `record_usage` in the registry has the same numbers, so that a restart forgets little and collectors of a cluster
/// know of each other. A number is written once it has grown by a 256th of its quota, and where it crosses 75 or 100 %.
/// So most devices cause no write at all. What a kill forgets, and what several collectors do not know of each other,
/// is at most that share for each collector. The epochs of a day are in memory alone: each collector counts those that
/// reach it, from its start.
///
/// One entry for each device that sends today. Safe from any thread.
final class RecordUsage: Sendable {
    /// Bytes that are in memory and not in the registry.
    struct Unwritten: Equatable, Sendable {
        var owner: RecordOwner
        var day: UTCDay
        var bytes: Int
    }

    private struct Entry {
        /// Includes the unwritten ones.
        var bytes = 0
        var unwritten = 0
        /// The epochs that a device named today, at most as many as it may; of devices only.
        var epochs: [EpochID] = []
        var areEpochsReported = false

        func isDue(_ quota: Int) -> Bool {
            guard unwritten > 0 else { return false }
            let former = QuotaShare(bytes: bytes - unwritten, quota: quota)
            let present = QuotaShare(bytes: bytes, quota: quota)
            return unwritten >= max(1, quota / 256) || former.isHigh != present.isHigh || present.isReached
        }
    }

    private struct State {
        var quotas = RecordQuotas()
        var day = UTCDay(number: 0)
        var entries: [RecordOwner: Entry] = [:]
        var isWriting = false

        mutating func begin(_ day: UTCDay) {
            guard day != self.day else { return }
            self.day = day
            entries = [:]
        }
    }

    private let state = Mutex(State())

    var quotas: RecordQuotas {
        get { state.withLock { $0.quotas } }
        set { state.withLock { $0.quotas = newValue } }
    }

    /// Why a device may send nothing now; `nil` if it may.
    /// - Parameter device: `nil` asks about the organization alone.
    func refusal(of device: DeviceID?, in organization: String, at now: Int64) -> RecordQuotaRefusal? {
        let today = UTCDay(microseconds: now)
        return state.withLock { state in
            state.begin(today)
            for owner in Self.owners(device, organization) {
                let (bytes, quota) = (state.entries[owner]?.bytes ?? 0, state.quotas.bytes(of: owner))
                guard QuotaShare(bytes: bytes, quota: quota).isReached else { continue }
                return RecordQuotaRefusal(
                    isOfDevice: owner.device != nil, bytes: bytes, quota: quota, wait: Self.wait(now, today))
            }
            return nil
        }
    }

    private static func wait(_ now: Int64, _ today: UTCDay) -> Int64 {
        min(max(1_000_000, today.next.start - now), RecordQuotaRefusal.longestWait)
    }

    /// Records the epochs that a device names.
    /// - Returns: why it may not, and then none is recorded; `nil` if it may.
    func refusal(
        ofEpochs epochs: some Sequence<EpochID>, of device: DeviceID, in organization: String, at now: Int64
    ) -> EpochRefusal? {
        let today = UTCDay(microseconds: now)
        let owner = RecordOwner(organization: organization, device: device)
        return state.withLock { state in
            state.begin(today)
            let limit = state.quotas.deviceEpochs
            var named = state.entries[owner]?.epochs ?? []
            let former = named.count
            for epoch in epochs where !named.contains(epoch) { named.append(epoch) }
            if named.count == former { return nil }
            guard named.count <= limit else {
                let isFirst = state.entries[owner]?.areEpochsReported != true
                state.entries[owner, default: Entry()].areEpochsReported = true
                return EpochRefusal(limit: limit, wait: Self.wait(now, today), isFirst: isFirst)
            }
            state.entries[owner, default: Entry()].epochs = named
            return nil
        }
    }

    /// Counts bytes that were stored.
    /// - Returns: whether the caller should have it written now.
    func record(_ bytes: Int, of device: DeviceID, in organization: String, at now: Int64) -> Bool {
        state.withLock { state in
            state.begin(UTCDay(microseconds: now))
            var isDue = false
            for owner in Self.owners(device, organization) {
                state.entries[owner, default: Entry()].bytes += bytes
                state.entries[owner, default: Entry()].unwritten += bytes
                isDue = isDue || state.entries[owner]?.isDue(state.quotas.bytes(of: owner)) == true
            }
            guard isDue, !state.isWriting else { return false }
            state.isWriting = true
            return true
        }
    }

    /// Returns what is to be written, in no order. It counts as written until `putBack`.
    /// - Parameter all: also what can wait.
    func drain(all: Bool) -> [Unwritten] {
        state.withLock { state in
            state.isWriting = false
            var taken: [Unwritten] = []
            for (owner, entry) in state.entries
            where all ? entry.unwritten > 0 : entry.isDue(state.quotas.bytes(of: owner)) {
                taken.append(Unwritten(owner: owner, day: state.day, bytes: entry.unwritten))
                state.entries[owner]?.unwritten = 0
            }
            return taken
        }
    }

    /// They could not be written.
    func putBack(_ unwritten: [Unwritten]) {
        state.withLock { state in
            for one in unwritten where one.day == state.day {
                state.entries[one.owner, default: Entry()].unwritten += one.bytes
            }
        }
    }

    /// Applies what the registry has of a day: also what other collectors wrote.
    func learn(_ bytes: Int, of owner: RecordOwner, day: UTCDay) {
        state.withLock { state in
            guard day == state.day else { return }
            let unwritten = state.entries[owner]?.unwritten ?? 0
            state.entries[owner, default: Entry()].bytes = bytes + unwritten
        }
    }

    /// Begins with the day of a time.
    func begin(at now: Int64) { state.withLock { $0.begin(UTCDay(microseconds: now)) } }

    private static func owners(_ device: DeviceID?, _ organization: String) -> [RecordOwner] {
        let whole = RecordOwner(organization: organization, device: nil)
        guard let device else { return [whole] }
        return [RecordOwner(organization: organization, device: device), whole]
    }
}

/// How much of a quota is used. Pure.
struct QuotaShare: Equatable, Sendable {
    var bytes: Int
    var quota: Int

    var isHigh: Bool { bytes >= quota - quota / 4 }
    var isReached: Bool { bytes >= quota }
}
