import Logging

/// Reads files through the host source with one shared buffer, and logs each odd file once.
struct FileReader: Sendable {
    let host: any HostSource
    private var buffer = FileBuffer()
    private var trace: OddFileTrace

    init(host: any HostSource, logger: Logger) {
        self.host = host
        trace = OddFileTrace(logger: logger)
    }

    /// Reads and parses one file.
    ///
    /// - Parameters:
    ///   - keepOpen: the file is read on every sample (see ``HostSource/read(_:into:maximumBytes:keepOpen:)``).
    ///   - traced: `false` for files whose absence means nothing, such as one of two places for the same fact.
    ///   - parse: returns `nil` if the bytes lack what is needed. Of a file that exceeds the limit it gets the complete
    ///     lines within it.
    mutating func parse<Value>(
        _ path: String, maximumBytes: Int, keepOpen: Bool = false, traced: Bool = true,
        _ parse: (UnsafeRawBufferPointer) -> Value?
    ) -> Value? {
        let outcome = host.read(path, into: &buffer, maximumBytes: maximumBytes, keepOpen: keepOpen)
        return value(after: outcome, of: path, traced: traced) { bytes in
            parse(outcome == .truncated ? bytes.wholeLines : bytes)
        }
    }

    /// Asks the kernel over netlink; `nil` if it does not answer. An answer that exceeds the limit is parsed up to it,
    /// since it holds complete messages only.
    mutating func exchange<Value>(
        _ request: NetlinkRequest, maximumBytes: Int, traced: Bool = true, _ parse: (NetlinkMessages) -> Value?
    ) -> Value? {
        let outcome = host.exchange(request, into: &buffer, maximumBytes: maximumBytes)
        return value(after: outcome, of: request.description, traced: traced) { parse(NetlinkMessages($0)) }
    }

    private mutating func value<Value>(
        after outcome: FileOutcome, of name: String, traced: Bool, _ parse: (UnsafeRawBufferPointer) -> Value?
    ) -> Value? {
        var value: Value?
        let oddity: OddFileTrace.Oddity?
        switch outcome {
        case .complete:
            value = buffer.withBytes(parse)
            oddity = value == nil ? .malformed : nil
        case .truncated:
            value = buffer.withBytes(parse)
            oddity = .tooLong
        case .absent: oddity = .absent
        case .denied: oddity = .denied
        case .failed(let errno): oddity = .failed(errno: errno)
        }
        if traced { trace.record(name, oddity) }
        return value
    }

    /// The trimmed content of a one-line file such as those in `/sys`.
    mutating func line(_ path: String, traced: Bool = false) -> String? {
        parse(path, maximumBytes: 4_096, traced: traced) { bytes in
            let line = bytes.trimmed
            return bytes.last == 0x0a && !line.isEmpty ? line.text : nil
        }
    }

    /// The number in a one-line file that holds nothing else.
    mutating func signedNumber(_ path: String, traced: Bool = false) -> Int64? {
        parse(path, maximumBytes: 64, traced: traced) { bytes in
            guard bytes.last == 0x0a else { return nil }
            var scanner = ByteScanner(bytes.trimmed)
            guard let number = scanner.signedNumber(), scanner.isAtEnd else { return nil }
            return number
        }
    }

    /// The names in a directory in natural order (`hwmon2` before `hwmon10`). A missing directory is logged.
    mutating func list(_ path: String, maximumEntries: Int) -> [String] {
        guard let names = host.list(path, maximumEntries: maximumEntries) else {
            trace.record(path, .absent)
            return []
        }
        trace.record(path, nil)
        return names.sorted { $0.utf8.count != $1.utf8.count ? $0.utf8.count < $1.utf8.count : $0 < $1 }
    }

    /// Marks a file as odd that could be read but has lines that could not be parsed.
    mutating func recordMalformed(_ path: String) {
        trace.record(path, .malformed)
    }
}

/// Logs what is odd about a file once, and again only if the oddity changes or returns.
struct OddFileTrace: Sendable {
    enum Oddity: Sendable, Equatable {
        /// The file, or the kernel feature behind it, does not exist here.
        case absent
        case denied
        case failed(errno: Int32)
        /// The file is longer than we read.
        case tooLong
        /// The file was read, but what is needed is not in it.
        case malformed
    }

    /// The most odd files that are remembered. Further ones count as logged.
    static let maximumFiles = 256

    private let logger: Logger
    private var said: [String: Oddity] = [:]

    init(logger: Logger) {
        self.logger = logger
    }

    /// Records the result of a read; `nil` means that all is well.
    mutating func record(_ path: String, _ oddity: Oddity?) {
        guard let oddity else {
            // Nearly always empty, so a healthy machine pays nothing here.
            if !said.isEmpty { said[path] = nil }
            return
        }
        guard said[path] != oddity, said[path] != nil || said.count < Self.maximumFiles else { return }
        said[path] = oddity
        let metadata: Logger.Metadata = ["sample.file.path": "\(path)", "sample.file.problem": "\(oddity)"]
        switch oddity {
        case .absent:
            logger.info("a source of samples is absent; its fields are left out", metadata: metadata)
        case .denied, .failed, .tooLong, .malformed:
            logger.warning("a source of samples is odd; its fields are left out", metadata: metadata)
        }
    }
}
