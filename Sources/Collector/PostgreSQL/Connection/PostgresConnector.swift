import CLibPQ
import Glibc
import Logging
import TelemetryBasics

/// Opens connections with the configuration's limits, and checks each before anyone uses it.
struct PostgresConnector: Sendable {
    let library: LibPQ
    let configuration: PostgresConfiguration
    let logger: Logger
    let check: @Sendable (PostgresSession) throws(PostgresError) -> Void
    /// The settings of the connection string.
    private let settings: [String: String]

    /// - Throws: `.configuration` for the string, a limit or the library.
    init(
        configuration: PostgresConfiguration, logger: Logger,
        check: @escaping @Sendable (PostgresSession) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        try configuration.validate()
        library = try LibPQ.open(configuration.library)
        settings = try library.parse(configuration.connectionString)
        if !configuration.allowsPlaintext {
            try PostgresTransportRule.check(settings.merging(library.defaults()) { own, _ in own })
        }
        self.configuration = configuration
        self.logger = logger
        self.check = check
    }

    /// Opens a connection to the first host that lets it in and whose server passes the check.
    ///
    /// Blocks for at most the connect timeout per host, name lookup aside, and then as long as the check lasts.
    /// - Throws: the error of the last host.
    func connect() throws(PostgresError) -> PostgresConnection {
        var failure = PostgresError(.configuration, "The connection string of PostgreSQL names no host.")
        for host in hosts() {
            do throws(PostgresError) {
                let connection = try open(host)
                let session = PostgresSession(connection, in: .none)
                defer { session.end() }
                do throws(PostgresError) { try check(session) } catch {
                    connection.close()
                    throw error
                }
                return connection
            } catch { failure = error }
        }
        throw failure
    }

    /// libpq goes from one host to the next by itself, but only its blocking calls do so after a timeout. So each host
    /// of a list is tried apart.
    /// - Returns: settings that replace those of the string; one empty set if the string has at most one host.
    private func hosts() -> [[String: String]] {
        func list(_ keyword: String) -> [String] {
            (settings[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let names = list("host")
        let addresses = list("hostaddr")
        let ports = list("port")
        let count = max(names.count, addresses.count)
        guard count > 1 else { return [[:]] }
        return (0..<count).map { index in
            var replaced: [String: String] = [:]
            for (keyword, values) in [("host", names), ("hostaddr", addresses), ("port", ports)] where !values.isEmpty {
                replaced[keyword] = values.count == 1 ? values[0] : index < values.count ? values[index] : ""
            }
            return replaced
        }
    }

    /// Later pairs win over earlier ones, and the string stands between: it may change the first, not the last.
    private func parameters(_ host: [String: String]) throws(PostgresError) -> [(String, String)] {
        let timeout = configuration.answerTimeout.components.seconds * 1000
        var pairs = [
            ("application_name", configuration.applicationName), ("keepalives", "1"), ("keepalives_idle", "10"),
            ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "\(timeout)"),
            ("dbname", configuration.connectionString), ("client_encoding", "UTF8"), ("options", options()),
        ]
        pairs += host.map { ($0.key, $0.value) }
        if let file = configuration.passwordFile { pairs.append(("password", try password(file))) }
        return pairs
    }

    /// Settings of the session. The server's keepalives let it end the session of a vanished collector, and so release
    /// its locks, after 25 s; ``PostgresLockHolder`` notices a loss earlier than that.
    private func options() -> String {
        let own = [
            ("statement_timeout", configuration.statementTimeoutSeconds * 1000),
            ("lock_timeout", configuration.lockTimeoutSeconds * 1000),
            ("idle_in_transaction_session_timeout", configuration.idleInTransactionTimeoutSeconds * 1000),
            ("tcp_keepalives_idle", 10), ("tcp_keepalives_interval", 5), ("tcp_keepalives_count", 3),
        ].map { "-c \($0.0)=\($0.1)" }
        return ((settings["options"].map { [$0] } ?? []) + own).joined(separator: " ")
    }

    private func password(_ file: String) throws(PostgresError) -> String {
        let bytes: [UInt8]?
        do throws(FileError) { bytes = try Files<FileError>.read(file, maximumBytes: 4096) } catch {
            throw PostgresError(.configuration, "The password of PostgreSQL cannot be read: \(error).")
        }
        guard let line = bytes.map(PlainText.normalized)?.split(separator: UInt8(ascii: "\n")).first else {
            throw PostgresError(.configuration, "The password file \(file) of PostgreSQL is missing or empty.")
        }
        return String(decoding: line, as: UTF8.self)
    }

    private func open(_ host: [String: String]) throws(PostgresError) -> PostgresConnection {
        let pairs = try parameters(host)
        let keywords = CStrings(pairs.map(\.0))
        let values = CStrings(pairs.map(\.1))
        let started = withExtendedLifetime((keywords, values)) {
            library.call.connectStartParams(keywords.pointers, values.pointers, 1)
        }
        guard let handle = started else {
            throw PostgresError(.unavailable, "libpq has no memory for a connection.")
        }
        let notices = PostgresNotices(library: library, logger: logger)
        notices.attach(to: handle)
        let connection = PostgresConnection(
            library: library, handle: handle, notices: notices, answerTimeout: configuration.answerTimeout)
        do throws(PostgresError) { try finishConnecting(connection, handle) } catch {
            connection.close()
            throw error
        }
        return connection
    }

    private func finishConnecting(_ connection: PostgresConnection, _ handle: OpaquePointer) throws(PostgresError) {
        let deadline = ContinuousClock.now + .seconds(configuration.connectTimeoutSeconds)
        // Only the verbose form of a message has the SQLSTATE, and a failed connection has no result to ask.
        _ = library.call.setErrorVerbosity(handle, PQ_VERBOSITY_VERBOSE)
        var polling = PQ_POLLING_WRITING
        while polling != PQ_POLLING_OK {
            guard library.call.status(handle) != PQ_CONNECTION_BAD,
                polling != PQ_POLLING_FAILED
            else { throw connectFailure(handle) }
            let event = polling == PQ_POLLING_READING ? POLLIN : POLLOUT
            guard connection.waitForSocket(event, until: deadline) else {
                throw PostgresError(
                    .unavailable,
                    "PostgreSQL did not accept a connection within \(configuration.connectTimeoutSeconds) s.")
            }
            polling = library.call.connectPoll(handle)
        }
        _ = library.call.setErrorVerbosity(handle, PQ_VERBOSITY_DEFAULT)
        guard library.call.setnonblocking(handle, 1) == 0 else { throw connectFailure(handle) }
    }

    private func connectFailure(_ handle: OpaquePointer) -> PostgresError {
        let text = library.call.errorMessage(handle).map { String(cString: $0) } ?? ""
        return PostgresError(
            connectMessage: text, needsPassword: library.call.connectionNeedsPassword(handle) != 0)
    }
}

extension PostgresError {
    /// The error of a failed connection attempt.
    /// - Parameter connectMessage: libpq's message in its verbose form: `... failed: FATAL:  28P01: password ...`. A
    ///   message of libpq itself has no SQLSTATE. libpq does not translate it, because no program of ours sets a
    ///   locale.
    init(connectMessage text: String, needsPassword: Bool) {
        let lines = text.split(separator: "\n").map { $0.drop { $0 == "\t" || $0 == " " } }
        let message = lines.filter { line in
            !["LOCATION:", "DETAIL:", "HINT:"].contains { line.hasPrefix($0) }
        }.joined(separator: " ")
        // Several addresses of one host fail one after the other; the last one says most.
        let state = message.matches(of: #/:  ([0-9A-Z]{5}): /#).last.map { String($0.1) }
        let code: Code
        if let state {
            code = Code(connectState: state)
        } else {
            let settings = [
                "certificate", "SSL error:", "does not support SSL", "sslmode", "authentication", "invalid ",
            ]
            code = needsPassword || settings.contains { message.contains($0) } ? .configuration : .unavailable
        }
        self.init(code, "PostgreSQL: \(message)", sqlState: state)
    }
}

/// A list of C strings with a null at its end, as libpq accepts keywords and values.
private final class CStrings {
    private let storage: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>

    init(_ strings: [String]) {
        storage = .allocate(capacity: strings.count + 1)
        for (index, string) in strings.enumerated() {
            storage.initializeElement(at: index, to: strdup(string).map { UnsafePointer($0) })
        }
        storage.initializeElement(at: strings.count, to: nil)
    }

    /// Valid while this object lives.
    var pointers: UnsafePointer<UnsafePointer<CChar>?> { UnsafePointer(storage.baseAddress!) }

    deinit {
        for pointer in storage { free(UnsafeMutablePointer(mutating: pointer)) }
        storage.deallocate()
    }
}
