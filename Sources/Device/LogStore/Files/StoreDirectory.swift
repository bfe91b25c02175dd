import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// A log store's directory: its path, and the keys of what is encrypted in it. Works with names, not with contents.
package struct StoreDirectory: Hashable, Sendable {
    package let path: String
    /// `nil`: what is written is plain, and what is encrypted cannot be read.
    package let keys: LogKeys?

    package init(path: String, keys: LogKeys? = nil) {
        self.path = path
        self.keys = keys
    }

    /// The path alone says which one it is.
    package static func == (left: StoreDirectory, right: StoreDirectory) -> Bool { left.path == right.path }
    package func hash(into hasher: inout Hasher) { hasher.combine(path) }

    /// Whether what is written is encrypted.
    var isSealing: Bool { keys?.isSealing == true }

    package func path(_ file: String) -> String { "\(path)/\(file)" }

    package func path(_ name: SegmentName, _ part: SegmentName.Part) -> String { path(name.file(part)) }

    package func has(_ name: SegmentName, _ part: SegmentName.Part) -> Bool { access(path(name, part), F_OK) == 0 }

    /// All names in the directory, unordered.
    /// - Throws: `.notFound` if the directory does not exist.
    package func names() throws(LogStoreError) -> [String] {
        try Files<LogStoreError>.names(in: path)
    }

    /// The files of every segment.
    package func segments() throws(LogStoreError) -> [SegmentName: Set<SegmentName.Part>] {
        var found: [SegmentName: Set<SegmentName.Part>] = [:]
        for file in try names() {
            guard let (name, part) = SegmentName.read(file) else { continue }
            found[name, default: []].insert(part)
        }
        return found
    }

    /// Segments of some kinds and one application, sorted by ordinal.
    /// - Parameter application: `nil` for all.
    func segments(
        of kinds: Set<SegmentName.Kind>, _ application: String?
    ) throws(LogStoreError) -> [(key: SegmentName, value: Set<SegmentName.Part>)] {
        try segments().filter {
            kinds.contains($0.key.kind) && application ?? $0.key.application == $0.key.application
        }.sorted { $0.key < $1.key }
    }

    /// Ids of the keys that segments name. Needs no key.
    func keyIDs() throws(LogStoreError) -> Set<UInt32> {
        var ids: Set<UInt32> = []
        for (name, parts) in try segments() {
            for part in parts where part != .index {
                do {
                    let file = try OpenFile<LogStoreError>(reading: path(name, part))
                    if part == .text {
                        ids.formUnion(try FrameReader.keyIDs(in: file, of: name))
                    } else if let head = try StoredSegment.head(of: file) {
                        ids.insert(try SealedForm.keyID(of: head, path: file.path))
                    }
                } catch {
                    guard error.code == .notFound else { throw error }
                }
            }
            if parts.contains(.index), let head = (try? SegmentIndex(name, in: self))?.run {
                ids.insert(try SealedForm.keyID(of: head, path: path(name, .index)))
            }
        }
        for file in try names() where PositionFile.isName(file) {
            ids.formUnion(try PositionFile.keyIDs(in: path(file)))
        }
        return ids
    }

    /// Renames a file and replaces one that has the new name.
    package func rename(_ file: String, to newName: String) throws(LogStoreError) {
        try Files<LogStoreError>.rename(path(file), to: path(newName))
    }

    /// Removes a file. Does nothing if there is none.
    package func remove(_ file: String) throws(LogStoreError) {
        try Files<LogStoreError>.remove(path(file))
    }

    /// Returns when names that were made, changed or removed here are on synced disk.
    package func sync() throws(LogStoreError) {
        try Files<LogStoreError>.sync(directory: path)
    }

    /// Acquires the store's lock. Hold it for moments: whoever has it neither compresses nor reads lines.
    /// - Throws: `.busy` if another process has it for longer than anybody should. A holder needs milliseconds, and
    ///   one that was stopped must not stop others; so this waits half a second.
    func lock() throws(LogStoreError) -> FileLock {
        let path = path(SegmentName.lockName)
        guard let lock = try FileLock(path, attempts: 500, failure: LogStoreError.self) else {
            throw LogStoreError(
                .busy, "\(path) is held by another process that does not let go of it. Find it with `fuser \(path)`.")
        }
        return lock
    }
}

/// The name of a segment's files: `<ordinal, ten digits>-<kind>[-<application>]`, followed by the part that a file
/// holds. Sorted by name, files are in the order of ordinals.
package struct SegmentName: Hashable, Comparable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case application
        case crash
        /// Lines less severe than the level in force, kept for a while in case a request asks for them.
        case ring
        /// Lines that the agent took in from a source. They count as far as they were committed with the position in
        /// the source.
        case intake

        package var type: LogType { self == .crash ? .crash : .application }
    }

    package enum Part: String, CaseIterable, Sendable {
        /// Plain text of an active segment, or of one that is not sealed yet.
        case text = ".log"
        case sealed = ".log.gz"
        case index = ".index"
    }

    /// Ends a file's name while the file is being written.
    package static let partialSuffix = ".partial"
    package static let stateName = "state"
    package static let lockName = "lock"
    private static let ordinalDigits = 10

    /// Counts from 1.
    package let ordinal: UInt64
    package let kind: Kind
    /// Bundle id of the program that wrote the lines. Empty: the application that the device enrolled with.
    package let application: String

    package init(ordinal: UInt64, kind: Kind, application: String = "") {
        self.ordinal = ordinal
        self.kind = kind
        self.application = application
    }

    package func file(_ part: Part) -> String {
        let application = application.isEmpty ? "" : "-" + Self.component(application)
        return "\(Self.digits(ordinal))-\(kind.rawValue)\(application)\(part.rawValue)"
    }

    /// Limit of a bundle id as it stands in names, in bytes. With the rest, a name stays below 255.
    static let maximumApplicationBytes = 200

    /// A bundle id as it stands in names: every byte but letters, digits, `.`, `_` and `-` as `%2f`.
    static func component(_ application: String) -> String {
        application.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }.joined()
    }

    /// Reverses ``component(_:)``; `nil` for what is none.
    static func application(_ component: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = component.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// An ordinal as it stands in names.
    package static func digits(_ ordinal: UInt64) -> String {
        let digits = String(ordinal)
        return String(repeating: "0", count: max(0, ordinalDigits - digits.utf8.count)) + digits
    }

    /// A name with this number or a greater one is that of a foreign file. Line numbers are the ordinal × 1,000,000 and
    /// stay below 2^62.
    static let greatestOrdinal: UInt64 = 1 << 42

    /// Parses a file's name; `nil` if the file does not belong to a segment.
    package static func read(_ file: String) -> (name: SegmentName, part: Part)? {
        guard let part = Part.allCases.first(where: { file.hasSuffix($0.rawValue) }) else { return nil }
        let words = file.dropLast(part.rawValue.utf8.count).split(
            separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, let ordinal = UInt64(words[0]), (1..<greatestOrdinal).contains(ordinal),
            let kind = Kind(rawValue: String(words[1])),
            let application = words.count == 3 ? Self.application(words[2]) : ""
        else { return nil }
        let name = SegmentName(ordinal: ordinal, kind: kind, application: application)
        return name.file(part) == file ? (name, part) : nil
    }

    package static func < (left: SegmentName, right: SegmentName) -> Bool { left.ordinal < right.ordinal }
}

extension StoreDirectory {
    /// Makes the directory and its parents with mode 0700, if missing.
    package func make() throws(LogStoreError) { try Files<LogStoreError>.makeDirectory(path, syncing: false) }

    /// Passes the state to `body` while holding `lock`, and replaces the file if `body` changed the state. The file is
    /// synced if more than the next ordinal changed. Segments that an earlier holder was about to remove are removed
    /// first.
    /// - Throws: `.busy`, `.newer`, and what `body` throws. The state is unchanged then.
    package func withState<Result: ~Copyable>(
        _ body: (inout StoreState) throws(LogStoreError) -> Result
    ) throws(LogStoreError) -> Result {
        let lock = try lock()
        defer { lock.release() }
        let old = try readState()
        var state: StoreState
        if let old { state = old } else { state = StoreState(epoch: .random(), next: try greatestOrdinal() + 1) }
        for name in state.removing { try remove(name) }
        state.removing = []
        let result = try body(&state)
        guard state != old else { return result }
        try replaceState(
            state, isSynced: state.epoch != old?.epoch || state.dropped != old?.dropped || !state.removing.isEmpty)
        // They are counted already. The next holder retries what cannot be removed now.
        for name in state.removing { try? remove(name) }
        return result
    }

    /// Reads the state without waiting for the holder of `lock`. `nil` if it is missing or damaged; then the next
    /// holder begins a new epoch.
    /// - Throws: `.newer`, `.io`.
    package func readState() throws(LogStoreError) -> StoreState? {
        let path = path(SegmentName.stateName)
        do {
            let bytes = try OpenFile<LogStoreError>(reading: path).readWhole(maximumBytes: StoreState.maximumBytes)
            return try StoreState(text: String(decoding: bytes, as: UTF8.self), path: path)
        } catch {
            switch error.code {
            case .notFound, .damaged: return nil
            default: throw error
            }
        }
    }

    private func replaceState(_ state: StoreState, isSynced: Bool) throws(LogStoreError) {
        let partial = SegmentName.stateName + SegmentName.partialSuffix
        let file = try OpenFile<LogStoreError>(replacing: path(partial))
        try file.write(Array(state.text.utf8))
        if isSynced { try file.sync() }
        try rename(partial, to: SegmentName.stateName)
    }

    /// 0 if there is none.
    private func greatestOrdinal() throws(LogStoreError) -> UInt64 {
        try names().compactMap { SegmentName.read(Self.withoutPartial($0))?.name.ordinal }.max() ?? 0
    }

    private static func withoutPartial(_ file: String) -> String {
        file.hasSuffix(SegmentName.partialSuffix) ? String(file.dropLast(SegmentName.partialSuffix.count)) : file
    }

    private func remove(_ name: SegmentName) throws(LogStoreError) {
        for part in SegmentName.Part.allCases { try remove(name.file(part)) }
    }
}
