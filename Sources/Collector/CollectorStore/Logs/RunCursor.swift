import FoundationEssentials
import Glibc
import Gzip
import WireModel

/// Goes over the lines of a run that match, in the order of the file. Holds the text of one stretch at a time, and gives even that back when
/// asked to: it is inflated again when its turn comes.
///
/// Not `Sendable`: belongs to its reader.
final class RunCursor {
    private let run: LogRun
    private let matcher: LogLineMatcher
    /// Those that may hold what is asked for.
    private let pieces: [LogPiece]
    private var piece = 0
    private var text: [UInt8]?
    private let held: HeldText
    /// Where the next line begins.
    private var position = 0

    struct Head: Equatable {
        var number: UInt64
        var time: Int64
        /// In the text of the present stretch; with the lines of no form that follow it.
        fileprivate var range: Range<Int>
    }

    /// The present line; `nil` at the end.
    private(set) var head: Head?

    init(_ run: LogRun, _ filter: LogFilter, _ matcher: LogLineMatcher, _ held: HeldText) {
        self.held = held
        self.run = run
        self.matcher = matcher
        pieces = run.pieces.filter { filter.mayMatch(times: $0.times, levelCounts: $0.levelCounts) }
    }

    func release() {
        held.release(text?.count ?? 0)
        text = nil
    }

    /// Goes to the next line.
    func advance() throws(StoreError) {
        head = nil
        while piece < pieces.count {
            guard let text = try load() else { return }
            if let found = text.withUnsafeBytes({ next(in: $0) }) {
                head = found
                position = found.range.upperBound
                return
            }
            release()
            piece += 1
            position = 0
        }
    }

    /// Appends the present line.
    func write(to output: inout [UInt8]) throws(StoreError) {
        guard let head, let text = try load() else { return }
        output.append(contentsOf: text[head.range])
        if text[head.range.upperBound - 1] != UInt8(ascii: "\n") { output.append(UInt8(ascii: "\n")) }
    }

    private func next(in bytes: UnsafeRawBufferPointer) -> Head? {
        var found: Head?
        var start = position
        while start < bytes.count {
            let end = Self.end(of: start, in: bytes)
            let line = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            if let parsed = LogLine(line) {
                if let found { return found }
                if parsed.number.segment == run.segment, matcher.matches(parsed, in: line) {
                    found = Head(number: parsed.number.value, time: parsed.time, range: start..<end)
                }
            } else if let head = found {
                found?.range = head.range.lowerBound..<end
            }
            start = end
        }
        return found
    }

    private static func end(of start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        guard let base = bytes.baseAddress, let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start) else {
            return bytes.count
        }
        return base.distance(to: UnsafeRawPointer(found)) + 1
    }

    /// The text of the present stretch; `nil`, and the end of the run, where its file was deleted meanwhile.
    private func load() throws(StoreError) -> [UInt8]? {
        if let text { return text }
        let stretch = pieces[piece]
        guard let stored = try read(stretch) else {
            piece = pieces.count
            return nil
        }
        var inflated: [UInt8] = []
        inflated.reserveCapacity(Int(stretch.rawBytes))
        do throws(GzipError) {
            let decompressor = try GzipDecompressor(limits: InflateLimits(maximumBytes: Int(stretch.rawBytes), maximumRatio: .max))
            try stored.withContiguousBytes { (bytes) throws(GzipError) in
                try decompressor.update(bytes, output: { inflated.append(contentsOf: $0) })
                try decompressor.finish()
            }
        } catch { throw StoreError(.corrupt, "\(run.path): \(error.message)") }
        guard inflated.count == Int(stretch.rawBytes) else {
            throw StoreError(.corrupt, "\(run.path) has \(inflated.count) bytes of text where \(stretch.rawBytes) were.")
        }
        text = inflated
        held.hold(inflated.count)
        return inflated
    }

    private func read(_ stretch: LogPiece) throws(StoreError) -> Data? {
        let descriptor = open(run.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw DataDirectory.failure("open", run.path)
        }
        defer { close(descriptor) }
        var bytes = Data(count: Int(stretch.storedBytes))
        let failure: StoreError? = bytes.withUnsafeMutableBytes { buffer in
            var read = 0
            while read < buffer.count {
                let count = pread(descriptor, buffer.baseAddress.map { $0 + read }, buffer.count - read, off_t(stretch.storedOffset) + read)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { return DataDirectory.failure("read", run.path) }
                guard count > 0 else { return StoreError(.corrupt, "\(run.path) ends before its index does.") }
                read += count
            }
            return nil
        }
        if let failure { throw failure }
        return bytes
    }
}
