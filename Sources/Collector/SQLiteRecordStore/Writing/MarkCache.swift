import RecordStore
import Synchronization
import WireModel

/// Chain states as they are on disk, for recently used chains. Bounded: a full generation becomes the old one, and a
/// chain that nobody asks for during a whole generation is forgotten.
///
/// Only the writer changes it, after its commits. Anybody may read it, so that a refusal can carry the last known mark.
final class MarkCache: Sendable {
    struct Entry: Sendable {
        var state: ChainState
        /// The newest file that has the chain, and the chain's row there; `nil` where only the baseline has it, or
        /// nothing.
        var place: (partition: Partition, row: Int64)?
        /// The bounds of the chain's records in that file.
        var bounds = RecordBounds.none
    }

    private struct Generations {
        var young: [ChainKey: Entry] = [:]
        var old: [ChainKey: Entry] = [:]
    }

    private let generations = Mutex(Generations())
    private let generationLimit: Int

    /// - Parameter limit: the most entries, 2 or more.
    init(limit: Int) {
        generationLimit = max(1, limit / 2)
    }

    subscript(key: ChainKey) -> Entry? {
        get {
            generations.withLock { generations in
                if let entry = generations.young[key] { return entry }
                guard let entry = generations.old[key] else { return nil }
                Self.insert(entry, key, &generations, limit: generationLimit)
                return entry
            }
        }
        set {
            generations.withLock { generations in
                if let newValue {
                    Self.insert(newValue, key, &generations, limit: generationLimit)
                } else {
                    generations.young[key] = nil
                    generations.old[key] = nil
                }
            }
        }
    }

    /// The file is removed, so no chain has its place there any more.
    func forget(_ partition: Partition) { forgetPlaces { $1.place?.partition == partition } }

    /// The devices are erased, so none of their chains has a place.
    func forgetPlaces(of devices: Set<DeviceID>) { forgetPlaces { key, _ in devices.contains(key.device) } }

    private func forgetPlaces(where isGone: (ChainKey, Entry) -> Bool) {
        func forgetting(_ entries: inout [ChainKey: Entry]) {
            for (key, entry) in entries where isGone(key, entry) {
                entries[key] = Entry(state: entry.state, place: nil)
            }
        }
        generations.withLock { generations in
            forgetting(&generations.young)
            forgetting(&generations.old)
        }
    }

    /// The chains with their newest row in a file, as on disk.
    func states(in partition: Partition) -> [ChainKey: ChainState] {
        generations.withLock { generations in
            generations.old.merging(generations.young) { $1 }.filter { $0.value.place?.partition == partition }
                .mapValues(\.state)
        }
    }

    func removeAll() {
        generations.withLock { $0 = Generations() }
    }

    private static func insert(_ entry: Entry, _ key: ChainKey, _ generations: inout Generations, limit: Int) {
        if generations.young.count >= limit, generations.young[key] == nil {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[key] = entry
    }
}

/// The reads and changes of a transaction so far; the cache adopts them after the commit.
struct WriterChanges {
    var entries: [ChainKey: MarkCache.Entry] = [:]
    /// Those whose row has to be written.
    private(set) var changed: Set<ChainKey> = []
    var counts = StoreCounts()

    /// The incidents that an administrator should know, with how many records each is about; reported when the
    /// transaction is over.
    var incidents: [(incident: DeviceIncident, count: UInt64)] = []

    var isEmpty: Bool { changed.isEmpty }

    mutating func record(_ entry: MarkCache.Entry, _ key: ChainKey) {
        entries[key] = entry
        changed.insert(key)
    }
}
