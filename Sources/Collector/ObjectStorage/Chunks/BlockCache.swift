import FoundationEssentials
import RecordStore
import Synchronization

/// Keeps parts of objects in memory: aligned blocks, those that were used last.
///
/// Safe to use from any thread. Two readers that miss the same block both read it.
final class BlockCache: Sendable {
    private struct Key: Hashable {
        var path: String
        var block: Int
    }

    private struct State {
        var blocks: [Key: (bytes: Data, used: UInt64)] = [:]
        var bytes = 0
        var uses: UInt64 = 0

        mutating func block(_ key: Key) -> Data? {
            guard let index = blocks.index(forKey: key) else { return nil }
            uses += 1
            blocks.values[index].used = uses
            return blocks.values[index].bytes
        }

        mutating func remove(_ key: Key) {
            guard let former = blocks.removeValue(forKey: key) else { return }
            bytes -= former.bytes.count
        }

        mutating func add(_ block: Data, _ key: Key, maximumBytes: Int) {
            remove(key)
            uses += 1
            blocks[key] = (block, uses)
            bytes += block.count
            while bytes > maximumBytes, let oldest = blocks.min(by: { $0.value.used < $1.value.used }) {
                remove(oldest.key)
            }
        }
    }

    /// A chunk of log text has about 1 MB as gzip, and its readers ask for some 10 KB at a time.
    static let blockBytes = 256 << 10

    private let maximumBytes: Int
    private let state = Mutex(State())

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// The bytes in memory.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Reads a range from memory, or through `load`.
    /// - Parameters:
    ///   - range: not empty.
    ///   - load: reads a range of whole blocks; at the object's end it returns less. `nil`: there is no such object.
    /// - Returns: the whole range; `nil` if there is no such object.
    /// - Throws: what `load` throws; `.corrupt` if it returns too little.
    func read(
        _ path: String, _ range: Range<Int>, load: (Range<Int>) throws(StoreError) -> Data?
    ) throws(StoreError) -> Data? {
        let size = Self.blockBytes
        let wanted = range.lowerBound / size..<(range.upperBound - 1) / size + 1
        var blocks = state.withLock { state in wanted.map { state.block(Key(path: path, block: $0)) } }
        // A block from the object's end may be too short for this range, if the index is wrong.
        if let first = blocks.firstIndex(of: nil), let last = blocks.lastIndex(of: nil) {
            let missing = wanted.lowerBound + first..<wanted.lowerBound + last + 1
            guard let loaded = try load(missing.lowerBound * size..<missing.upperBound * size) else { return nil }
            for block in missing {
                let start = loaded.startIndex + (block - missing.lowerBound) * size
                let bytes = start < loaded.endIndex ? Data(loaded[start..<min(start + size, loaded.endIndex)]) : Data()
                blocks[block - wanted.lowerBound] = bytes
                guard !bytes.isEmpty else { continue }
                state.withLock { $0.add(bytes, Key(path: path, block: block), maximumBytes: maximumBytes) }
            }
        }
        var joined = blocks[0] ?? Data()
        for case let block? in blocks.dropFirst() { joined.append(block) }
        let start = range.lowerBound - wanted.lowerBound * size
        guard start + range.count <= joined.count else {
            throw StoreError(.corrupt, "\(path) in the bucket is shorter than its index says.")
        }
        return joined.subdata(in: joined.startIndex + start..<joined.startIndex + start + range.count)
    }

    func remove(_ path: String) {
        state.withLock { state in
            for key in state.blocks.keys.filter({ $0.path == path }) { state.remove(key) }
        }
    }
}
