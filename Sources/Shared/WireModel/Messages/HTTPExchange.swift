import FoundationEssentials
import TelemetryBasics

/// One HTTP request to a collector. Devices and people make them over different clients.
package struct TransportRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
        case head = "HEAD"
    }

    package var method: Method
    /// Absolute path with its query, below the collector's base URL.
    package var path: String
    package var headers: [(name: String, value: String)]
    package var body: Data?
    /// The timeout for the whole exchange.
    package var timeout: Duration
    /// A longer answer is a `responseTooLarge` error.
    package var maximumResponseBytes: Int

    package init(
        method: Method, path: String, headers: [(name: String, value: String)] = [], body: Data? = nil,
        timeout: Duration = .seconds(30),
        maximumResponseBytes: Int = 4 * 1024 * 1024
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumResponseBytes = maximumResponseBytes
    }
}

/// A whole answer, of a collector or of something else at its address.
package struct TransportResponse: Sendable {
    package var status: Int
    /// Names in lower case; of repeated headers the first.
    package var headers: [String: String]
    package var body: Data

    package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension TransportResponse {
    /// Names a collector and its incarnation, as every answer does.
    package struct Source: Equatable, Sendable {
        package var collector: CollectorID
        package var incarnation: IncarnationID
    }

    /// Collector and incarnation from the headers; `nil` where either is missing or no identifier.
    package var source: Source? {
        guard let collector = headers[WireNames.collectorHeader.lowercased()].flatMap({ CollectorID($0) }),
            let incarnation = headers[WireNames.incarnationHeader.lowercased()].flatMap({ IncarnationID($0) })
        else { return nil }
        return Source(collector: collector, incarnation: incarnation)
    }

    /// Retry-After in seconds. The date form is not read: it would need a clock that is right.
    package var retryAfter: Duration? {
        guard let seconds = headers["retry-after"].flatMap({ Int($0) }), seconds >= 0 else { return nil }
        return .seconds(min(seconds, 86_400))
    }

    /// More than any problem of a collector has, bytes. Whoever answers in its place could otherwise have this program
    /// read for minutes.
    private static let problemBytes = 16 * 1024

    package var problem: Problem? {
        guard headers["content-type"]?.hasPrefix(WireNames.problem) == true, body.count <= Self.problemBytes else {
            return nil
        }
        return try? JSONDecoder().decode(Problem.self, from: body)
    }
}

/// Why there was no whole answer.
package struct TransportError: CodedError, Equatable {
    package enum Code: String, Sendable {
        case nameResolution = "name-resolution"
        case connectionRefused = "connection-refused"
        case connectionClosed = "connection-closed"
        case timedOut = "timed-out"
        /// The proxy was not reached, or did not connect to the collector.
        case proxy
        case tls
        /// The server's key is none of those it is pinned to.
        case pinMismatch = "pin-mismatch"
        /// This device's certificate or its key cannot be used.
        case clientCertificate = "client-certificate"
        case responseTooLarge = "response-too-large"
        case cancelled
        case other
    }

    package var code: Code
    /// The text for people: what failed, to which host and port, and what to look at.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
