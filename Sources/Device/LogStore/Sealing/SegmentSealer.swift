import Gzip
import WireModel

/// Makes sealed segments of active ones. Meant to be kept: its compressor is reused.
///
/// What a crash leaves is mended by sealing again; at every moment the lines are there once, in the text or in a whole
/// sealed segment:
/// 1. `….log.gz.partial` is written block by block and synced, then `….index.partial`;
/// 2. the first is renamed, then the second, and the directory synced: from here on the segment is sealed;
/// 3. the text is removed.
///
/// Holds a block in memory. Not `Sendable`: one thread at a time, which holds the lock
/// of the segment's text. Nobody may write to the segment any more.
package final class SegmentSealer {
    package struct Outcome: Equatable, Sendable {
        /// `nil`: there was no whole line, and nothing is left of the segment.
        package var index: SegmentIndex?
        /// Bytes of a last line without its end. They are not in the sealed segment.
        package var tornBytes: Int
    }

    private let compressor: GzipCompressor

    package init() throws(LogStoreError) {
        do { compressor = try GzipCompressor() } catch { throw LogStoreError(.io, error.message, cause: error) }
    }

    /// Seals a segment of which there is text; one that is sealed already stays as it is.
    /// - Throws: `.notFound` where there is neither; `.diskFull`, `.io`: the text is still there.
    package func seal(_ name: SegmentName, in directory: StoreDirectory, epoch: LogEpochID) throws(LogStoreError)
        -> Outcome
    {
        if let index = try Self.sealed(name, in: directory) {
            var tornBytes = 0
            if directory.has(name, .text) {
                // A crash came before the last step.
                tornBytes = try StoreFile(reading: directory.path(name, .text)).byteCount() - index.whole.rawBytes
                try Self.removeText(name, in: directory)
            }
            return Outcome(index: index, tornBytes: max(0, tornBytes))
        }
        let outcome = try writePartial(name, in: directory, epoch: epoch)
        guard let index = outcome.index else {
            try directory.remove(Self.partial(name, .sealed))
            try Self.removeText(name, in: directory)
            return outcome
        }
        try index.writePartial(name, in: directory)
        try directory.rename(Self.partial(name, .sealed), to: name.file(.sealed))
        try directory.rename(Self.partial(name, .index), to: name.file(.index))
        try directory.sync()
        try Self.removeText(name, in: directory)
        return outcome
    }

    private func writePartial(
        _ name: SegmentName, in directory: StoreDirectory, epoch: LogEpochID
    ) throws(LogStoreError) -> Outcome {
        var reader = try TextBlockReader(try StoreFile(reading: directory.path(name, .text)))
        let target = try StoreFile(replacing: directory.path(Self.partial(name, .sealed)))
        var builder = SegmentIndexBuilder(name, epoch: epoch)
        while let text = try reader.next() {
            let member: [UInt8]
            do { member = try compressor.compress(text) } catch {
                throw LogStoreError(.io, error.message, cause: error)
            }
            try target.write(member)
            member.withUnsafeBytes { builder.add(text: text, stored: $0) }
        }
        try target.sync()
        return Outcome(index: builder.index(), tornBytes: reader.tornBytes)
    }

    /// The index of a segment that is sealed and whole, as far as that shows without reading it.
    private static func sealed(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) -> SegmentIndex?
    {
        do {
            let index = try SegmentIndex(name, in: directory)
            return try StoreFile(reading: directory.path(name, .sealed)).byteCount() == index.whole.storedBytes
                ? index : nil
        } catch {
            switch error.code {
            case .notFound, .damaged: return nil
            default: throw error
            }
        }
    }

    private static func removeText(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        try directory.remove(name.file(.text))
        try directory.sync()
    }

    private static func partial(_ name: SegmentName, _ part: SegmentName.Part) -> String {
        name.file(part) + SegmentName.partialSuffix
    }
}
