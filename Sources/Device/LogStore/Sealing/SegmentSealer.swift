import Encryption
import FoundationEssentials
import Gzip
import TelemetryBasics
import WireModel

/// Compresses active segments into sealed ones.
///
/// Every line exists at every moment, either in the text or in a whole sealed segment. After a crash, sealing again
/// repairs what was left. The steps:
/// 1. Write and sync `….log.gz.partial` block by block, then `….index.partial`.
/// 2. Rename the first, then the second, and sync the directory. From here on the segment is sealed.
/// 3. Remove the text.
///
/// Holds one block in memory. Not `Sendable`: use it from one thread at a time. That thread holds the lock of the
/// segment's text, and nobody may write to the segment any more.
package final class SegmentSealer {
    package struct Outcome: Equatable, Sendable {
        /// `nil` if there was no whole line. Then nothing is left of the segment.
        package var index: SegmentIndex?
        /// Bytes of a last line without newline. They are not in the sealed segment.
        package var tornBytes: Int
        /// The text was encrypted, so nothing is known of what was torn.
        package var isEncrypted = false
    }

    private let compressor: GzipCompressor

    package init() throws(LogStoreError) {
        do { compressor = try GzipCompressor() } catch { throw LogStoreError(.io, error.message, cause: error) }
    }

    /// Seals a segment that has a text. A segment that is sealed already stays as it is.
    /// - Throws: `.notFound` if there is neither text nor sealed file; `.diskFull`, `.io`, `.locked`, and `.damaged` if
    ///   encrypted text does not open: the text is still there.
    package func seal(_ name: SegmentName, in directory: StoreDirectory, epoch: LogEpochID) throws(LogStoreError)
        -> Outcome
    {
        if let index = try Self.sealed(name, in: directory) {
            var tornBytes = 0
            if directory.has(name, .text) {
                // The process crashed before step 3.
                let text = try OpenFile<LogStoreError>(reading: directory.path(name, .text))
                let isEncrypted = FrameReader.isFramed(try text.read(SealedForm.magic.count, at: 0))
                tornBytes = isEncrypted ? 0 : try text.byteCount() - index.whole.rawBytes
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
        var reader = try TextBlockReader(
            try OpenFile<LogStoreError>(reading: directory.path(name, .text)), of: name, keys: directory.keys)
        let target = try SealedSegmentWriter(name, in: directory)
        var builder = SegmentIndexBuilder(name, epoch: epoch)
        while let text = try reader.next() {
            let member: [UInt8]
            do { member = try compressor.compress(text) } catch {
                throw LogStoreError(.io, error.message, cause: error)
            }
            try target.write(member)
            member.withUnsafeBytes { builder.add(text: text, stored: $0) }
        }
        // What can still be read stays readable where it is; sealing would give the lines behind other numbers.
        guard reader.damages.isEmpty else { throw .frames(reader.damages, of: name) }
        var index = builder.index()
        try target.finish(&index)
        return Outcome(index: index, tornBytes: reader.tornBytes, isEncrypted: reader.isEncrypted)
    }

    /// The index of a segment that is sealed and looks whole without reading its lines.
    private static func sealed(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) -> SegmentIndex?
    {
        do {
            let index = try SegmentIndex(name, in: directory)
            let stored = try StoredSegment(name, in: directory, index: index)
            return try stored.byteCount() == stored.expectedBytes ? index : nil
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

    static func partial(_ name: SegmentName, _ part: SegmentName.Part) -> String {
        name.file(part) + SegmentName.partialSuffix
    }
}
