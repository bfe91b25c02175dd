import FoundationEssentials
import WireModel

extension SegmentIndex {
    /// Of a sealed segment, from its file.
    /// - Throws: `.notFound`, `.damaged`, `.newer`.
    package init(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        let path = directory.path(name, .index)
        try self.init(text: try StoreFile(reading: path).readWhole(maximumBytes: Self.maximumTextBytes), path: path)
        guard whole.first == LogNumber(segment: name.ordinal, position: 1) else {
            throw LogStoreError(
                .damaged, "\(path) is that of another segment. `ws1log verify` tells what can be made anew from the segment.")
        }
    }

    /// Written and synced, not yet renamed to its name.
    package func writePartial(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        let file = try StoreFile(replacing: directory.path(name.file(.index) + SegmentName.partialSuffix))
        try file.write([UInt8](text))
        try file.sync()
    }

    /// Replaces the file, e.g. by an index made anew. For who holds the store's lock.
    package func store(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        try writePartial(name, in: directory)
        try directory.rename(name.file(.index) + SegmentName.partialSuffix, to: name.file(.index))
        try directory.sync()
    }
}
