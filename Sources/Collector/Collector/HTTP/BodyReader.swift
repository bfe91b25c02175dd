import Foundation
import Gzip
import HTTPTypes
import Hummingbird
import NIOCore
import WireModel
import Zstd

/// Reads a request's body: checked before the first byte, capped and inflated while it streams, and counted against the
/// budget all the time. Hummingbird bounds a body by its length as it travels only, and each body by itself.
struct BodyReader: Sendable {
    struct Limit: Sendable {
        /// The most bytes as sent.
        var bytes: Int
        /// The most bytes after inflating.
        var inflatedBytes: Int

        static func small(_ bytes: Int) -> Limit { Limit(bytes: bytes, inflatedBytes: bytes) }
    }

    enum Encoding { case identity, gzip, zstd }

    /// The bytes of a body that are read before it occupies a place in the budget. With the most accepted connections
    /// this is 8 MiB.
    private static let unplacedBytes = 4096
    /// The most bytes of a body with a few short fields. The longest names fit in, whatever their characters.
    static let fewFieldsBytes = 4096

    let batchLimit: Limit
    let budget: IngestBudget
    let metrics: CollectorMetrics

    enum Kind {
        case batch
        case small(Int)
        /// JSON from people.
        case json(Int)
        /// A JSON merge patch from people (RFC 7396).
        case mergePatch(Int)
        /// A form of the console.
        case form(Int)
        /// Gzip data that is kept compressed.
        case gzip(Int)

        var mediaType: String {
            switch self {
            case .batch, .small: WireNames.protobuf
            case .json: WireNames.json
            case .mergePatch: WireNames.mergePatch
            case .form: WireNames.form
            case .gzip: WireNames.gzip
            }
        }
    }

    /// Reads the body and runs `operation` with it. Its bytes count against the budget until `operation` ends.
    /// - Throws: `Problem` (413, 415, 400), `IngestBudget.Full`, and what `operation` throws.
    func read<Result>(
        _ request: Request, _ context: CallerContext<some Caller>, limit kind: Kind,
        _ operation: (Data) async throws -> Result
    ) async throws -> Result {
        let limit =
            switch kind {
            case .batch: batchLimit
            case .small(let bytes), .json(let bytes), .mergePatch(let bytes), .form(let bytes), .gzip(let bytes):
                Limit.small(bytes)
            }
        try Self.checkMediaType(request, kind.mediaType)
        let encoding = try Self.encoding(of: request)
        if case .gzip = kind, encoding != .identity {
            throw Problem.unsupportedMediaType(
                "A body of type \(WireNames.gzip) must have no Content-Encoding.", code: .unsupportedContentEncoding)
        }
        try Self.checkLength(request, limit: limit.bytes)
        var source = BodySource(request.body)
        // A client that announces a body and does not send it occupies a connection, but no place.
        try await source.begin(Self.unplacedBytes)
        return try await budget.withPlace(for: context.caller.share) { place in
            let body: Data
            let received: Int
            switch encoding {
            case .identity:
                body = try await Self.collect(&source, limit: limit, &place)
                received = body.count
            case .gzip, .zstd:
                (body, received) = try await Self.inflate(
                    &source, limit: limit, try Self.inflater(encoding, limit, ratio: WireLimits.inflateRatio), &place)
            }
            // Decoding copies the body's contents, except for a batch's records.
            if case .batch = kind {
                metrics.read(compressed: received, inflated: body.count)
            } else {
                try place.grow(by: body.count)
            }
            return try await operation(body)
        }
    }

    /// Reads a body of OTLP and runs `operation` with it. Its bytes, and those by which `operation` lets its place
    /// grow, count against the budget until `operation` ends.
    ///
    /// The protocol bounds the bytes after inflation and no ratio: a thousand equal records are compressed further than
    /// anything that a device sends.
    /// - Parameter limit: bytes as sent, and after inflation.
    func readOTLP<Result>(
        _ request: Request, _ context: OTLPContext, limit bytes: Int,
        _ operation: ([UInt8], _ received: Int, inout IngestBudget.Place) async throws -> Result
    ) async throws -> Result {
        let limit = Limit.small(bytes)
        let encoding = try Self.encoding(of: request, known: [.gzip, .zstd])
        try Self.checkLength(request, limit: limit.bytes)
        var source = BodySource(request.body)
        try await source.begin(Self.unplacedBytes)
        return try await budget.withPlace(for: context.caller.share) { place in
            switch encoding {
            case .identity:
                let body: [UInt8] = try await Self.collect(&source, limit: limit, &place)
                return try await operation(body, body.count, &place)
            case .gzip, .zstd:
                let inflater = try Self.inflater(encoding, limit, ratio: Self.greatestRatio)
                let (body, received): ([UInt8], Int) = try await Self.inflate(
                    &source, limit: limit, inflater, &place)
                return try await operation(body, received, &place)
            }
        }
    }

    /// More than deflate can reach, which is 1,032.
    private static let greatestRatio = 2048

    static func checkMediaType(_ request: Request, _ expected: String) throws(Problem) {
        // The form our own devices send.
        if request.headers[.contentType] == expected { return }
        let given =
            (request.headers[.contentType] ?? "").split(separator: ";", maxSplits: 1).first.map(String.init) ?? ""
        guard given.trimmingCharacters(in: .whitespaces).lowercased() == expected else {
            throw .unsupportedMediaType(
                given.isEmpty ? "The request has no Content-Type; expected \(expected)." : "Expected \(expected).")
        }
    }

    /// - Parameter known: the encodings that the route takes.
    static func encoding(of request: Request, known: [Encoding] = [.gzip]) throws(Problem) -> Encoding {
        let given = request.headers[.contentEncoding] ?? "identity"
        if given == "gzip" { return .gzip }
        switch given.trimmingCharacters(in: .whitespaces).lowercased() {
        case "", "identity": return .identity
        case "gzip", "x-gzip": return .gzip
        case "zstd" where known.contains(.zstd): return .zstd
        default:
            let names = known.map { "\($0)" }.joined(separator: " or ")
            throw .unsupportedMediaType(
                "Content-Encoding must be \(names), once, or absent.", code: .unsupportedContentEncoding)
        }
    }

    /// An announced length is used only to refuse it.
    static func checkLength(_ request: Request, limit: Int) throws(Problem) {
        guard let text = request.headers[.contentLength] else { return }
        guard let length = Int(text), length >= 0 else { throw .malformed("Content-Length is not a number of bytes.") }
        guard length <= limit else { throw .bodyTooLarge(limit: limit, "The body has \(length) bytes") }
    }

    private static func collect<Bytes: BodyBytes>(
        _ body: inout BodySource, limit: Limit, _ place: inout IngestBudget.Place
    ) async throws -> Bytes {
        var data = Bytes()
        while let buffer = try await body.next() {
            guard buffer.readableBytes <= limit.bytes - data.count else {
                throw Problem.bodyTooLarge(limit: limit.bytes, "The body has more bytes than that")
            }
            try place.grow(by: buffer.readableBytes)
            data.append(contentsOf: buffer.readableBytesView)
        }
        return data
    }

    /// - Returns: the inflated body, and the number of bytes received.
    private static func inflate<Bytes: BodyBytes>(
        _ body: inout BodySource, limit: Limit, _ inflater: any BodyInflater, _ place: inout IngestBudget.Place
    ) async throws -> (body: Bytes, received: Int) {
        var data = Bytes()
        var memory = 0
        while let buffer = try await body.next() {
            guard buffer.readableBytes <= limit.bytes - inflater.bytesIn else {
                throw Problem.bodyTooLarge(limit: limit.bytes, "The body has more bytes than that")
            }
            // A few kilobytes may become all that a body may have, so each piece is counted before it is kept.
            var refusal: (any Error)?
            try buffer.withUnsafeReadableBytes { bytes in
                do {
                    try inflater.inflate(bytes) { piece in
                        guard refusal == nil else { return }
                        do { try place.grow(by: piece.count) } catch { refusal = error }
                        if refusal == nil { data.append(contentsOf: piece) }
                    }
                } catch { throw Problem.ofInflating(error, limit: limit) }
            }
            if let refusal { throw refusal }
            if inflater.chosenMemory > memory {
                try place.grow(by: inflater.chosenMemory - memory)
                memory = inflater.chosenMemory
            }
        }
        do { try inflater.finish() } catch { throw Problem.ofInflating(error, limit: limit) }
        return (data, inflater.bytesIn)
    }

    private static func inflater(
        _ encoding: Encoding, _ limit: Limit, ratio: Int
    ) throws(Problem) -> any BodyInflater {
        do {
            guard encoding == .gzip else { return try ZstdDecompressor(limit: limit.inflatedBytes) }
            return try GzipDecompressor(
                limits: InflateLimits(maximumBytes: limit.inflatedBytes, maximumRatio: ratio))
        } catch { throw .ofInflating(error, limit: limit) }
    }
}

private protocol BodyInflater {
    /// Bytes fed.
    var bytesIn: Int { get }
    /// The memory that the sender made it take, in bytes.
    var chosenMemory: Int { get }
    /// Feeds bytes, and gives out what they become.
    func inflate(_ bytes: UnsafeRawBufferPointer, _ output: (UnsafeRawBufferPointer) -> Void) throws
    func finish() throws
}

extension GzipDecompressor: BodyInflater {
    fileprivate var chosenMemory: Int { 0 }

    fileprivate func inflate(_ bytes: UnsafeRawBufferPointer, _ output: (UnsafeRawBufferPointer) -> Void) throws {
        try update(bytes, output: output)
    }
}

extension ZstdDecompressor: BodyInflater {
    fileprivate var chosenMemory: Int { memory }

    fileprivate func inflate(_ bytes: UnsafeRawBufferPointer, _ output: (UnsafeRawBufferPointer) -> Void) throws {
        try update(bytes, output: output)
    }
}

extension Problem {
    static func ofFull(_ full: IngestBudget.Full) -> Problem {
        switch full {
        case .collector(let wait): .busy("The collector has as many requests in memory as it can hold.", wait: wait)
        case .device(let wait):
            .busy("This device has as many requests under way as one device may have. Wait for one to end.", wait: wait)
        case .token(let wait):
            .busy("This token has as many requests under way as one token may have. Wait for one to end.", wait: wait)
        }
    }

    fileprivate static func ofInflating(_ error: any Error, limit: BodyReader.Limit) -> Problem {
        switch error {
        case let error as GzipError: ofGzip(error, limit: limit)
        case let error as ZstdError: ofZstd(error, limit: limit)
        default: .internalFault
        }
    }

    private static func ofZstd(_ error: ZstdError, limit: BodyReader.Limit) -> Problem {
        switch error.code {
        case .limitExceeded: .bodyTooLarge(limit: limit.inflatedBytes, "The inflated body has more bytes than that")
        case .truncated, .corrupt: .malformed(error.message)
        case .outOfMemory: .busy(error.message)
        }
    }

    static func ofGzip(_ error: GzipError, limit: BodyReader.Limit) -> Problem {
        switch error.code {
        case .limitExceeded: .bodyTooLarge(limit: limit.inflatedBytes, "The inflated body has more bytes than that")
        case .ratioExceeded:
            Problem(
                status: 413, code: .inflateRatio, title: "Body compressed too far", detail: error.message,
                scope: .stream, limit: WireLimits.inflateRatio)
        case .truncated, .corrupt, .trailingGarbage: .malformed(error.message, code: .malformedGzip)
        case .outOfMemory: .busy(error.message)
        case .misuse: .internalFault
        }
    }
}

/// What a body is collected in.
private protocol BodyBytes: RangeReplaceableCollection where Element == UInt8 {}
extension Data: BodyBytes {}
extension [UInt8]: BodyBytes {}

/// A request's body as a stream. Its beginning can be awaited before anything is read.
///
/// Not `Sendable`: one task reads it.
struct BodySource {
    private var iterator: RequestBody.AsyncIterator
    private var beginning: [ByteBuffer] = []
    private var hasEnded = false

    init(_ body: RequestBody) { iterator = body.makeAsyncIterator() }

    /// Waits until `bytes` bytes or the whole body have arrived.
    /// - Throws: `Problem`, as `next` does.
    mutating func begin(_ bytes: Int) async throws {
        var come = 0
        while come < bytes, let buffer = try await read() {
            come += buffer.readableBytes
            beginning.append(buffer)
        }
        // `next` removes from the end.
        beginning.reverse()
    }

    /// - Throws: `Problem` if the body breaks off or its chunks are malformed. This is the sender's fault and not the
    ///   collector's.
    mutating func next() async throws -> ByteBuffer? {
        if let buffer = beginning.popLast() { return buffer }
        return try await read()
    }

    private mutating func read() async throws -> ByteBuffer? {
        guard !hasEnded else { return nil }
        do {
            let buffer = try await iterator.next()
            hasEnded = buffer == nil
            return buffer
        } catch let error as CancellationError {
            throw error
        } catch let problem as Problem {
            // What brings the body knows better, such as parts of a message that do not fit together.
            throw problem
        } catch {
            throw Problem.malformed("The body cannot be read to its end: \(error).", code: .malformedHTTP)
        }
    }
}
