import FoundationEssentials
import Gzip
import HTTPConnection
import TelemetryBasics
import WireModel

extension CollectorClient {
    /// Streams the text of a device's log. The text was complete if this returns.
    /// - Parameter receive: accepts pieces of any size, one at a time. An error it throws ends the request and is
    ///   rethrown.
    package func text(_ query: LogQuery, _ receive: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        let path = query.path("/api/v1/logs/content")
        var patience = BusyPatience()
        while true {
            do { return try await readText(path, receive) } catch let error as CollectorClientError {
                try await pause(after: error, &patience)
            }
        }
    }

    private func readText(_ path: String, _ receive: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        // No limit here: `receive` bounds what it keeps.
        let inflater = try GzipDecompressor(limits: InflateLimits(maximumBytes: .max - 1, maximumRatio: .max))
        let name = name
        var failure: (any Error)?
        var request = request(.get, path, headers: [("Accept-Encoding", "gzip")])
        request.timeout = Self.patience
        do {
            let answer = try await connection.stream(
                request, silence: Self.patience,
                isWanted: {
                    $0.status == 200 && $0.headers["content-encoding"] == "gzip"
                        && CollectorClientError.refusal($0, from: name) == nil
                }
            ) { piece in
                try inflater.update(piece) { text in
                    guard failure == nil else { return }
                    do { try receive(text) } catch { failure = error }
                }
                if let failure { throw failure }
            }
            if let refusal = CollectorClientError.refusal(answer, from: name) { throw refusal }
            guard answer.headers["content-encoding"] == "gzip" else {
                throw CollectorClientError(
                    .failed,
                    "\(name) sent a log in another form than was asked for: something on the way changes answers")
            }
            // Checks gzip's CRC and length.
            try inflater.finish()
        } catch let error as GzipError {
            throw CollectorClientError(
                .tryAgain, "\(name) sent a log that was damaged on the way: \(error.message)", cause: error)
        } catch let error as TransportError {
            throw CollectorClientError(error, peer: name)
        }
    }

    /// The same, line by line.
    /// - Parameter take: receives each line with its newline.
    package func lines(_ query: LogQuery, _ receive: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        var splitter = LineSplitter()
        try await text(query) { try splitter.add($0, receive) }
        try splitter.finish(receive)
    }
}

/// Splits text that comes in pieces into lines. Holds at most one line.
package struct LineSplitter {
    /// A line is never larger than a chunk.
    static let maximumLineBytes = LogLimits.chunkBytes

    private var begun: [UInt8] = []

    package init() {}

    /// - Parameter take: receives each complete line with its newline.
    package mutating func add(_ text: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) throws -> Void) throws
    {
        var rest = text
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = UnsafeRawBufferPointer(rebasing: rest[...end])
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            guard begun.isEmpty else {
                try hold(line)
                try begun.withUnsafeBytes(receive)
                begun.removeAll(keepingCapacity: true)
                continue
            }
            try receive(line)
        }
        try hold(rest)
    }

    /// Hands over a last line without a newline.
    package mutating func finish(_ receive: (UnsafeRawBufferPointer) throws -> Void) throws {
        if !begun.isEmpty { try begun.withUnsafeBytes(receive) }
        begun = []
    }

    private mutating func hold(_ text: UnsafeRawBufferPointer) throws(CollectorClientError) {
        guard begun.count + text.count <= Self.maximumLineBytes else {
            throw CollectorClientError(.failed, "the collector sent a line of more than \(Self.maximumLineBytes) bytes")
        }
        begun.append(contentsOf: text)
    }
}
