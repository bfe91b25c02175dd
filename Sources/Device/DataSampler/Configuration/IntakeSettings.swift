import Intake
import ListeningSockets
import LogStore
import TelemetryBasics
import WireModel

/// Something whose lines are taken into the log store, as an application of their own. A source is of one kind.
package struct IntakeSettings: Equatable, Sendable {
    /// Patterns of glob(7), each an absolute path.
    package var files: [String] = []
    /// The systemd journal in place of files.
    package var journal = false
    /// The kernel's ring in place of files.
    package var kernel = false
    /// OTLP/HTTP in place of files: logs for the log store, and metrics for the device's queue.
    package var otlp = false
    /// Where OTLP is received at 127.0.0.1 and ::1, 1 to 65,535; 0: only at the socket.
    package var port = 4318
    /// A socket with this path: of datagrams for syslog, in place of files; of connections for OTLP.
    package var socket: String?
    /// The group that may use the socket of OTLP; `nil`: the agent's own user alone.
    package var group: String?
    /// Bytes of a request of OTLP, as sent and after inflation.
    package var bodyBytes = 4 << 20
    /// Bytes of requests of OTLP in a day of UTC, after inflation, 1,000,000 or more; `nil`: no bound.
    package var bytesPerDay: Int? = 200_000_000
    /// Addresses with a port, such as `127.0.0.1:5514`, at which syslog is received, in place of files.
    package var udp: String?
    package var tcp: String?
    /// `udp` and `tcp` may be reached by other machines.
    package var allowRemote = false
    /// Units of the journal with their suffix; empty: all.
    package var units: [String] = []
    /// Identifiers of the journal (`SYSLOG_IDENTIFIER`); empty: all.
    package var identifiers: [String] = []
    /// The highest number of a priority, of journal, kernel and syslog: 0 (emergency) to 7 (debug).
    package var priority = 7
    /// A namespace of the journal; `nil`: the default one.
    package var namespace: String?
    /// Where reading begins at the first start of the source. What was there before stays out unless asked for.
    package var start = IntakeStart.now
    /// The level of all lines.
    package var level = LogLevel.information
    /// The lines with which an event of several lines begins, in the syntax of scrub patterns; a match must begin with
    /// the line. `nil`: each line is an event.
    package var eventStart: String?
    /// Bytes on disk of the source's segments, 1,000,000 or more.
    package var bytes = 20_000_000
    /// Days for which a segment is kept after its last line, 1 to 3,650.
    package var days = 14.0
    /// Lines that are stored in a second, 1 or more. What comes faster is left out and counted. `nil`: all.
    package var linesPerSecond: Int?
    /// Lines that may come at once after a quiet time, 1 or more; counts only with `linesPerSecond`.
    package var burst = 10_000

    package init() {}

    /// The most sources.
    package static let maximumSources = 64
    /// The greatest is what the protocol recommends. Four requests of it must find room in memory.
    package static let bodyBytesAllowed = 64 << 10...64 << 20
    private static let maximumNameBytes = 100

    // MARK: - Kinds

    /// What a source reads.
    enum Kind: String, CaseIterable {
        case files
        case journal
        case kernel
        case syslog
        case otlp

        /// Whether the settings name something of that kind to read.
        func isNamed(_ settings: IntakeSettings) -> Bool {
            switch self {
            case .files: !settings.files.isEmpty
            case .journal: settings.journal
            case .kernel: settings.kernel
            case .syslog: settings.udp != nil || settings.tcp != nil || settings.socket != nil && !settings.otlp
            case .otlp: settings.otlp
            }
        }

        /// What a source may have in place of `files`.
        static var others: String { "set journal, kernel or otlp to true, or give socket, udp or tcp for syslog" }
    }

    /// Of several the first. Checked settings have one.
    var kind: Kind { Kind.allCases.first { $0.isNamed(self) } ?? .files }

    /// A key that not every kind has.
    private struct Key {
        let name: String
        let kinds: [Kind]
        /// Whether it has another value in the one than in the other.
        let differs: (IntakeSettings, IntakeSettings) -> Bool

        init(_ name: String, _ value: KeyPath<IntakeSettings, some Equatable>, _ kinds: [Kind]) {
            self.name = name
            self.kinds = kinds
            differs = { $0[keyPath: value] != $1[keyPath: value] }
        }
    }

    private static var keys: [Key] {
        [
            Key("level", \.level, [.files]),
            Key("eventStart", \.eventStart, [.files]),
            Key("units", \.units, [.journal]),
            Key("identifiers", \.identifiers, [.journal]),
            Key("namespace", \.namespace, [.journal]),
            Key("priority", \.priority, [.journal, .kernel, .syslog]),
            Key("start", \.start, [.files, .journal, .kernel]),
            Key("allowRemote", \.allowRemote, [.syslog]),
            Key("port", \.port, [.otlp]),
            Key("group", \.group, [.otlp]),
            Key("bodyBytes", \.bodyBytes, [.otlp]),
            Key("bytesPerDay", \.bytesPerDay, [.otlp]),
            // OTLP has words of its own for too much, and drops nothing that it has accepted.
            Key("linesPerSecond", \.linesPerSecond, [.files, .journal, .kernel, .syslog]),
            Key("burst", \.burst, [.files, .journal, .kernel, .syslog]),
        ]
    }

    // MARK: - Check

    /// - Parameters:
    ///   - name: the source's application.
    ///   - directory: the data directory. Files in it are refused, because each line that is taken in makes a longer
    ///     file there.
    func check(_ name: String, dataDirectory directory: String) throws(DataSamplerError) {
        func refuse(_ message: String) -> DataSamplerError {
            DataSamplerError(.invalidConfiguration, "intake.\(name)\(message)")
        }
        let isName = name.utf8.allSatisfy { byte in
            switch UInt8(byte) {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isName, (1...Self.maximumNameBytes).contains(name.utf8.count) else {
            throw refuse(
                ": the name must have 1 to \(Self.maximumNameBytes) letters, digits, dots, underscores and hyphens")
        }
        let kind: Kind
        switch Kind.allCases.filter({ $0.isNamed(self) }) {
        case let kinds where kinds.count == 1: kind = kinds[0]
        case []: throw refuse(".files is missing: name the files to take in, or \(Kind.others)")
        case let kinds: throw refuse(" has \(kinds.map(\.rawValue).joined(separator: " and ")): make a source of each")
        }
        let usual = IntakeSettings()
        for key in Self.keys where !key.kinds.contains(kind) && key.differs(self, usual) {
            throw refuse(
                ".\(key.name) is not for a source of \(kind.rawValue), but of "
                    + "\(key.kinds.map(\.rawValue).joined(separator: ", ")): remove it, or make another source")
        }
        guard (0...7).contains(priority) else { throw refuse(".priority is \(priority): it must be 0 to 7") }
        try checkListeners(refuse, dataDirectory: directory)
        if kind == .otlp { try checkOTLP(name, refuse) }
        for file in files {
            guard file.hasPrefix("/") else { throw refuse(".files has '\(file)': it must be an absolute path") }
            guard !file.hasPrefix(directory.hasSuffix("/") ? directory : directory + "/") else {
                throw refuse(
                    ".files has '\(file)', which is in the data directory: the agent's own files cannot be named")
            }
        }
        if let eventStart {
            do { _ = try LinePattern(eventStart) } catch { throw refuse(".eventStart: \(error.message)") }
        }
        guard bytes >= LogRetention.leastBytes else {
            throw refuse(".bytes is \(bytes): it must be \(LogRetention.leastBytes) or more")
        }
        guard LogRetention.daysAllowed.contains(days) else { throw refuse(".days is \(days): it must be 1 to 3650") }
        for (key, value) in [("linesPerSecond", linesPerSecond ?? 1), ("burst", burst)] where value < 1 {
            throw refuse(".\(key) is \(value): it must be 1 or more")
        }
    }
}

extension IntakeSettings {
    /// The custom module that the metrics of a source count as. The profile switches it by this name.
    package static func metricModule(of source: String) -> String { "otlp.\(source)" }

    private func checkOTLP(_ name: String, _ refuse: (String) -> DataSamplerError) throws(DataSamplerError) {
        let most = CustomModuleName.maximumBytes - Self.metricModule(of: "").utf8.count
        guard name.utf8.count <= most else {
            throw refuse(": the name of a source of otlp must have at most \(most) bytes")
        }
        guard (0...65_535).contains(port) else { throw refuse(".port is \(port): it must be 0 to 65535") }
        guard port > 0 || socket != nil else {
            throw refuse(".port is 0 and there is no socket: give one of them, or nobody can send")
        }
        guard group == nil || socket != nil else {
            throw refuse(".group is for a socket: give its path with socket, or remove it")
        }
        guard Self.bodyBytesAllowed.contains(bodyBytes) else {
            throw refuse(
                ".bodyBytes is \(bodyBytes): it must be \(Self.bodyBytesAllowed.lowerBound) to "
                    + "\(Self.bodyBytesAllowed.upperBound)")
        }
        guard bytesPerDay ?? 1_000_000 >= 1_000_000 else {
            throw refuse(".bytesPerDay is \(bytesPerDay ?? 0): it must be 1000000 or more")
        }
    }

    private func checkListeners(
        _ refuse: (String) -> DataSamplerError, dataDirectory directory: String
    ) throws(DataSamplerError) {
        if let socket {
            guard case .path = SocketAddress(socket) else {
                throw refuse(
                    ".socket is '\(socket)': it must be an absolute path of at most \(SocketAddress.longestPath) bytes")
            }
            guard !socket.hasPrefix(directory.hasSuffix("/") ? directory : directory + "/") else {
                throw refuse(".socket is '\(socket)': the data directory is the agent's own; name a path elsewhere")
            }
        }
        for (key, text) in [("udp", udp), ("tcp", tcp)] {
            guard let text else { continue }
            guard let address = SocketAddress(text), case .internet(_, 1...) = address else {
                throw refuse(
                    ".\(key) is '\(text)': it must be an address and a port, such as 127.0.0.1:5514 or [::1]:5514")
            }
            guard allowRemote || address.isLocal else {
                throw refuse(
                    ".\(key) is '\(text)', which other machines can reach, and anybody there could fill the store: "
                        + "use 127.0.0.1, or set allowRemote to true")
            }
        }
    }
}

extension FileIntake.Configuration {
    /// - Parameter startsNow: begins at the present ends of the files, whatever the settings say.
    init(_ settings: IntakeSettings, startsNow: Bool) {
        self.init(patterns: settings.files)
        start = startsNow ? .now : settings.start
        level = settings.level
        // The pattern was checked with the configuration.
        if let pattern = settings.eventStart.flatMap({ try? LinePattern($0) }) {
            isEventStart = { pattern.begins($0) }
        }
    }
}

extension JournalIntake.Configuration {
    /// - Parameter startsNow: begins behind the newest entry, whatever the settings say.
    init(_ settings: IntakeSettings, startsNow: Bool) {
        self.init()
        start = startsNow ? .now : settings.start
        filter.units = Set(settings.units)
        filter.identifiers = Set(settings.identifiers)
        filter.priority = settings.priority
        filter.excludedUnit = OwnUnit.name
        namespace = settings.namespace
    }
}

extension KernelIntake.Configuration {
    /// - Parameter startsNow: begins behind the newest record, whatever the settings say.
    init(_ settings: IntakeSettings, startsNow: Bool) {
        self.init()
        start = startsNow ? .now : settings.start
        priority = settings.priority
    }
}

extension SyslogIntake.Configuration {
    init(_ settings: IntakeSettings) {
        var addresses: [SyslogAddress] = []
        if let path = settings.socket { addresses.append(.local(path)) }
        if case .internet(let host, let port) = settings.udp.flatMap({ SocketAddress($0) }) {
            addresses.append(.udp(host: host, port: port))
        }
        if case .internet(let host, let port) = settings.tcp.flatMap({ SocketAddress($0) }) {
            addresses.append(.tcp(host: host, port: port))
        }
        self.init(addresses)
        priority = settings.priority
    }
}

extension OTLPIntake.Configuration {
    init(_ settings: IntakeSettings) {
        self.init(port: settings.port > 0 ? UInt16(clamping: settings.port) : nil, socket: settings.socket)
        group = settings.group
        bodyBytes = settings.bodyBytes
        bytesPerDay = settings.bytesPerDay
    }
}
