import Crypto
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// Checks every promise of `Schemas/logs/FORMAT.md` on a store's files. Reads everything, changes nothing, acquires no
/// lock.
package struct StoreVerifier {
    package struct Finding: Codable, Equatable, Sendable {
        package var file: String
        /// The text: what is wrong, and what it means.
        package var message: String
        /// Whether lines are lost or altered. Otherwise the next writer repairs it by itself.
        package var isDamage: Bool

        package init(file: String, message: String, isDamage: Bool) {
            self.file = file
            self.message = message
            self.isDamage = isDamage
        }
    }

    package private(set) var findings: [Finding] = []
    package private(set) var segments = 0
    package private(set) var lines = 0
    /// Bytes of text checked so far.
    package private(set) var bytes = 0

    /// Why lines could not be checked: they are encrypted, and their key is not at hand. That is no damage.
    package private(set) var locked: LogStoreError?

    private let directory: StoreDirectory
    private let inflater: BlockInflater
    /// How many more malformed lines are named one by one. A segment may have a hundred thousand of them.
    private var namableLines = 20

    /// - Parameter progress: called after each segment with the number done and the number of all.
    package init(_ directory: StoreDirectory, progress: (Int, Int) -> Void = { _, _ in }) throws(LogStoreError) {
        self.directory = directory
        inflater = try BlockInflater()
        let names = try directory.names().sorted()
        let state = readState(names)
        for file in names where file.hasSuffix(SegmentName.partialSuffix) {
            record(file, "is not finished; whoever opens the store next removes it", isDamage: false)
        }
        let all = try directory.segments().sorted { $0.key < $1.key }
        for (position, (name, parts)) in all.enumerated() {
            check(name, parts, state)
            progress(position + 1, all.count)
        }
    }

    /// Whether nothing is damaged, as far as it could be checked.
    package var isWhole: Bool { !findings.contains(where: \.isDamage) }

    private mutating func record(_ file: String, _ message: String, isDamage: Bool = true) {
        findings.append(Finding(file: file, message: message, isDamage: isDamage))
    }

    private mutating func readState(_ names: [String]) -> StoreState? {
        do {
            if let state = try directory.readState() { return state }
            record(
                SegmentName.stateName,
                names.contains(SegmentName.stateName)
                    ? "is damaged: what was dropped is no longer known, and numbers begin a new epoch"
                    : "is missing: the next writer begins a new epoch")
        } catch { record(SegmentName.stateName, error.message) }
        return nil
    }

    private mutating func check(_ name: SegmentName, _ parts: Set<SegmentName.Part>, _ state: StoreState?) {
        segments += 1
        for part in parts { checkMode(name.file(part)) }
        if let state, name.ordinal >= state.next {
            record(name.file(parts.first ?? .text), "has a number that was not given out yet (next is \(state.next))")
        }
        do {
            if parts.isSuperset(of: [.sealed, .index]) {
                try checkSealed(name, state)
                if parts.contains(.text) {
                    record(
                        name.file(.text), "is still beside the sealed segment; the next writer removes it",
                        isDamage: false)
                }
            } else if parts.contains(.text) {
                try checkText(name)
            } else if parts.contains(.sealed) {
                let index = try SegmentIndex(rebuilding: name, in: directory, epoch: .unknown)
                count(index)
                record(name.file(.index), "is missing; it is made anew in memory by whoever reads, and no line is lost")
            } else {
                record(name.file(.index), "is alone: its lines are gone")
            }
        } catch {
            if error.code == .locked {
                locked = locked ?? error
                return
            }
            // The store's limits removed the segment during the check.
            if error.code != .notFound { record(name.file(parts.contains(.sealed) ? .sealed : .text), error.message) }
        }
    }

    private mutating func checkMode(_ file: String) {
        var status = stat()
        guard stat(directory.path(file), &status) == 0, status.st_mode & 0o077 != 0 else { return }
        record(
            file, "can be read by others (mode \(String(status.st_mode & 0o777, radix: 8))): chmod 600", isDamage: false
        )
    }

    private mutating func count(_ index: SegmentIndex) {
        lines += index.whole.lines
        bytes += index.whole.rawBytes
    }

    private mutating func checkSealed(_ name: SegmentName, _ state: StoreState?) throws(LogStoreError) {
        var index: SegmentIndex
        do { index = try SegmentIndex(name, in: directory) } catch {
            guard error.code == .damaged else { throw error }
            record(name.file(.index), error.message)
            count(try SegmentIndex(rebuilding: name, in: directory, epoch: .unknown))
            return
        }
        count(index)
        if let state, index.epoch != state.epoch {
            record(name.file(.index), "is of another epoch of the store", isDamage: false)
        }
        let file = try StoredSegment(name, in: directory, index: index)
        let size = try file.byteCount()
        if size != file.expectedBytes {
            record(name.file(.sealed), "has \(size) bytes, its index says \(file.expectedBytes)")
        }
        if try !file.hasWholeHead() {
            record(
                name.file(.sealed), "has another head than its index says; the lines are read with that of the index")
        }
        if index.rawDigest.isEmpty {
            do { (index.rawDigest, index.storedDigest) = try file.digests() } catch {
                guard error.code == .damaged else { throw error }
                record(name.file(.sealed), error.message)
            }
        }
        var digests = (raw: SHA256(), stored: SHA256())
        var lines = LineCheck(name, path: name.file(.sealed), naming: namableLines)
        for block in index.blocks {
            do {
                digests.stored.update(data: try file.read(block))
                let text = try inflater.text(of: block, in: file)
                digests.raw.update(bufferPointer: text)
                lines.check(text)
                var tally = LineTally()
                tally.add(text: text)
                if tally != LineTally(block.stretch) {
                    record(name.file(.index), "block at \(block.storedOffset) holds other lines than it says")
                }
            } catch {
                guard error.code != .locked else { throw error }
                lines.skip(block.stretch)
                record(name.file(.sealed), error.message)
            }
        }
        add(lines)
        if !index.storedDigest.isEmpty, Data(digests.stored.finalize()) != index.storedDigest {
            record(name.file(.sealed), "is not what was sealed: SHA-256 differs")
        }
        if !index.rawDigest.isEmpty, Data(digests.raw.finalize()) != index.rawDigest {
            record(name.file(.sealed), "holds other text than was sealed: SHA-256 differs")
        }
    }

    private mutating func checkText(_ name: SegmentName) throws(LogStoreError) {
        var reader = try TextBlockReader(
            try OpenFile<LogStoreError>(reading: directory.path(name, .text)), of: name, keys: directory.keys,
            fileEnd: try directory.committedBytes(of: name))
        var check = LineCheck(name, path: name.file(.text), naming: namableLines)
        while let text = try reader.next() {
            if !reader.damages.isEmpty { check.resume(at: text) }
            check.check(text)
        }
        if !reader.damages.isEmpty { record(name.file(.text), LogStoreError.frames(reader.damages, of: name).message) }
        add(check)
        lines += check.lines
        bytes += reader.offset
    }

    /// Names the store's first malformed lines, and counts those of each file.
    private mutating func add(_ check: LineCheck) {
        findings += check.findings
        namableLines -= check.findings.count
        if check.oddLines > check.findings.count {
            record(check.path, "\(check.oddLines) lines in all are not of the form or misnumbered")
        }
    }
}

/// Checks that the lines of a segment are well-formed and numbered without a gap.
struct LineCheck {
    private let name: SegmentName
    let path: String
    private let maximumFindings: Int
    private(set) var lines = 0
    /// Of the last line in the segment.
    private var position: UInt64 = 0
    /// Lines that are malformed or have an unexpected number.
    private(set) var oddLines = 0
    /// The first of these lines.
    private(set) var findings: [StoreVerifier.Finding] = []

    /// - Parameter maximumFindings: how many of them are named; all are counted.
    init(_ name: SegmentName, path: String, naming maximumFindings: Int) {
        self.name = name
        self.path = path
        self.maximumFindings = maximumFindings
    }

    mutating func check(_ text: UnsafeRawBufferPointer) {
        for line in LineSlices(text) {
            lines += 1
            position += 1
            let expected = LogNumber(segment: name.ordinal, position: position)
            guard let fields = LogLine(line), line.count <= LogLimits.lineBytes else {
                recordLine("is not of the form", expected)
                continue
            }
            if fields.number != expected { recordLine("says it is \(fields.number.value)", expected) }
        }
    }

    mutating func skip(_ stretch: SegmentIndex.Stretch) {
        lines += stretch.lines
        position += UInt64(stretch.lines)
    }

    /// Lines before this text are missing, and that is said already.
    mutating func resume(at text: UnsafeRawBufferPointer) {
        guard let line = LineSlices(text).first(where: { _ in true }), let number = LogLine(line)?.number,
            number.segment == name.ordinal, number.position > position
        else { return }
        position = number.position - 1
    }

    private mutating func recordLine(_ what: String, _ number: LogNumber) {
        oddLines += 1
        guard findings.count < maximumFindings else { return }
        findings.append(StoreVerifier.Finding(file: path, message: "line \(number.value) \(what)", isDamage: true))
    }
}
