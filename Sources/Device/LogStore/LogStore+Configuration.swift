import Glibc
import WireModel

extension LogStore {
    /// How a store is opened.
    public struct Configuration: Sendable {
        /// Where its files lie. Made, with mode 0700, where it is missing. Several programs may give the same one.
        public var directory: String
        /// The program's name; the first part of the names of chunks that are fetched.
        public var applicationName: String
        /// The program's version, in its crash logs.
        public var applicationVersion = ""
        /// The least severe level that is written; `nil`: nothing is. Default: information.
        public var level: LogLevel? = .information
        /// How long a line below error may wait in memory: the most that a crash of the process loses. Default 1 s, up to 60 s; zero: each
        /// call hands its line to the kernel before it returns.
        public var flushInterval: Duration = .seconds(1)
        /// Of all segments but those of the ring, on disk. Default 50,000,000; at least 1,000,000.
        public var maximumBytes = 50_000_000
        /// Of segments: how long after their last line they are kept. Default 14 days; a minute to 3,650 days.
        public var maximumAge: Duration = .seconds(14 * 86_400)
        /// Of the ring on disk: lines less severe than `level` go there, for requests that ask for them. Default 5,000,000; 0: there is none,
        /// and a filtered line costs next to nothing. At least 100,000 otherwise.
        public var ringBytes = 5_000_000
        /// After so long a segment is sealed, also if it is not full. Default a day; a minute to 30 days.
        public var segmentAge: Duration = .seconds(86_400)
        /// What is replaced in every line before it is kept anywhere.
        public var scrubbing = LogScrubbing()

        /// - Parameters:
        ///   - directory: where the files lie.
        ///   - applicationName: the program's name.
        public init(directory: String, applicationName: String) {
            self.directory = directory
            self.applicationName = applicationName
        }
    }
}

extension LogStore.Configuration {
    /// A ring of a few segments, so that what goes is a part of it.
    private static let ringSegments = 5
    /// Memory for lines that wait, twice: for those that come and those that are being written.
    private static let waitingBytes = 8 << 20

    func check() throws(LogStoreError) {
        try Self.require(!directory.isEmpty, "directory", "empty", "a path")
        try Self.require(!applicationName.isEmpty, "applicationName", "empty", "a name")
        try Self.require(flushInterval, in: .zero ... .seconds(60), "flushInterval")
        try Self.require(maximumBytes >= 1_000_000, "maximumBytes", "\(maximumBytes)", "at least 1000000")
        try Self.require(maximumAge, in: .seconds(60) ... .seconds(3650 * 86_400), "maximumAge")
        try Self.require(ringBytes == 0 || ringBytes >= 100_000, "ringBytes", "\(ringBytes)", "0 or at least 100000")
        try Self.require(segmentAge, in: .seconds(60) ... .seconds(30 * 86_400), "segmentAge")
    }

    var writerSettings: LogWriter.Settings {
        LogWriter.Settings(
            flushMilliseconds: flushInterval.milliseconds, segmentBytes: LogLimits.chunkBytes,
            ringSegmentBytes: min(LogLimits.chunkBytes, max(LogLimits.lineBytes, ringBytes / Self.ringSegments)),
            segmentAgeMilliseconds: segmentAge.milliseconds, waiting: WaitingLimits(bytes: Self.waitingBytes))
    }

    /// Of this process, from now on.
    var session: SessionRecord {
        SessionRecord(
            application: applicationName, version: applicationVersion, process: getpid(), bootID: SystemClock.bootID(),
            started: SystemClock.wallMicroseconds(),
            backtraces: Backtraces.path(from: getenv("SWIFT_BACKTRACE").map { String(cString: $0) }))
    }

    var keeper: StoreKeeper {
        StoreKeeper(
            directory: StoreDirectory(path: directory), maximumBytes: maximumBytes, ringBytes: ringBytes,
            maximumAge: maximumAge.milliseconds * 1000)
    }

    private static func require(_ duration: Duration, in range: ClosedRange<Duration>, _ name: String) throws(LogStoreError) {
        try require(range.contains(duration), name, "\(duration)", "\(range.lowerBound) to \(range.upperBound)")
    }

    private static func require(_ holds: Bool, _ name: String, _ value: String, _ wanted: String) throws(LogStoreError) {
        guard holds else { throw LogStoreError(.invalid, "\(name) is \(value); it must be \(wanted)") }
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
