import Encryption
import FoundationEssentials
import TelemetryBasics

/// Writes the file of a sealed segment under its partial name, encrypted if the store has keys for that.
final class SealedSegmentWriter {
    private let file: OpenFile<LogStoreError>
    private var run: SealedLogRun.Writer?
    private let head: Data?

    /// - Throws: `.locked` if the key is not at hand; then there is no file.
    init(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        let path = directory.path(SegmentSealer.partial(name, .sealed))
        let key = try directory.isSealing ? directory.keys?.sealingKey(for: path) : nil
        file = try OpenFile<LogStoreError>(replacing: path)
        run = key.map { SealedLogRun.Writer(segment: name.ordinal, key: $0) }
        head = run?.head
        if let head { try file.write(Array(head)) }
    }

    /// - Parameter member: the gzip form of a block.
    func write(_ member: [UInt8]) throws(LogStoreError) {
        guard head != nil else { return try file.write(member) }
        try seal(Data(member), isLast: false)
    }

    /// Writes the digests of an encrypted segment, and syncs the file.
    /// - Parameter index: gets the head of the run; `nil` if there is no line.
    func finish(_ index: inout SegmentIndex?) throws(LogStoreError) {
        if let head, let whole = index {
            try seal(whole.rawDigest + whole.storedDigest, isLast: true)
            index?.run = head
        }
        try file.sync()
    }

    private func seal(_ text: Data, isLast: Bool) throws(LogStoreError) {
        let block: Data?
        do throws(EncryptionError) { block = try run?.seal(text, isLast: isLast) } catch {
            throw LogStoreError(.io, error.message, cause: error)
        }
        if let block { try file.write(Array(block)) }
    }
}
