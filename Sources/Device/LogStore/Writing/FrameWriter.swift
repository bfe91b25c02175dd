import Encryption
import FoundationEssentials
import TelemetryBasics
import WireModel

/// Encrypts the text of an active segment in frames. Each frame holds whole lines, so a frame that is torn is cut off
/// as a torn line is.
///
/// Not `Sendable`: guarded by whoever guards the segment.
final class FrameWriter {
    /// Where a frame ends.
    struct Frame: Equatable {
        /// In the bytes for the file.
        var sealedEnd: Int
        /// In the text.
        var textEnd: Int
    }

    private let segment: UInt64
    private let key: DataKey
    private var run: SealedLogRun.Writer
    private var hasHead = false

    init(segment: UInt64, key: DataKey) {
        self.segment = segment
        self.key = key
        run = SealedLogRun.Writer(segment: segment, key: key)
    }

    /// - Parameter text: whole lines.
    func seal(_ text: UnsafeRawBufferPointer) throws(LogStoreError) -> (bytes: [UInt8], frames: [Frame]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count + text.count / 1024 + 128)
        var frames: [Frame] = []
        if !hasHead { bytes.append(contentsOf: run.head) }
        var start = 0
        do throws(EncryptionError) {
            while start < text.count {
                let rest = UnsafeRawBufferPointer(rebasing: text[start...])
                let frame = LineSlices.blockBytes(rest, limit: LogLimits.blockBytes)
                guard frame > 0 else { break }
                bytes.append(contentsOf: try run.seal(Data(rest.prefix(frame))))
                start += frame
                frames.append(Frame(sealedEnd: bytes.count, textEnd: start))
            }
        } catch { throw LogStoreError(.io, error.message, cause: error) }
        hasHead = true
        return (bytes, frames)
    }

    /// Begins a new run, because frames that were sealed did not all get into the file. Their numbers are used up.
    func restart() {
        run = SealedLogRun.Writer(segment: segment, key: key)
        hasHead = false
    }
}
