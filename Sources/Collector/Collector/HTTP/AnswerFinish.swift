import Crypto
import Foundation
import Gzip
import HTTPTypes
import Hummingbird
import NIOCore
import WireModel

/// Gives every JSON answer an entity tag, answers 304 if the reader has it already, and compresses with gzip if the
/// reader accepts it. Pages of the console and metrics are compressed only: each page has a form token of its own, and
/// each answer with metrics is another.
///
/// An answer of known size is in memory. Others are compressed piece by piece while they are written, with a window of
/// 256 KiB.
struct AnswerFinish<Context: RequestContext>: RouterMiddleware {
    /// A shorter answer is not compressed.
    private static var gzipBytes: Int { 1024 }
    /// Answers for people are no archives: a low level achieves most of the compression in a third of the time.
    private static var level: Int { 3 }

    func handle(_ request: Request, context: Context, next: Next<Context>) async throws -> Response {
        var response = try await next(request, context)
        let isJSON = Self.isJSON(response.headers[.contentType])
        guard isJSON || Self.isCompressible(response.headers[.contentType]) else { return response }
        if isJSON, request.method == .get || request.method == .head, response.status == .ok,
            response.body.contentLength != nil
        {
            let bytes = try await CollectingBodyWriter.bytes(of: response.body)
            // A revision is its own tag.
            let tag = response.headers[.eTag] ?? Self.tag(of: bytes)
            response.headers[.eTag] = tag
            response.headers[.cacheControl] = "private, no-cache"
            if let field = request.headers[.ifNoneMatch], Self.isAmong(field, tag) {
                response.headers[.contentType] = nil
                return Response(status: .notModified, headers: response.headers)
            }
            response.body = ResponseBody(byteBuffer: bytes)
        }
        guard response.headers[.contentEncoding] == nil, response.body.contentLength ?? .max >= Self.gzipBytes else {
            return response
        }
        response.headers[.vary] = [response.headers[.vary], "Accept-Encoding"].compactMap(\.self).joined(
            separator: ", ")
        guard request.acceptsGzip else { return response }
        response.headers[.contentEncoding] = "gzip"
        response.headers[.contentLength] = nil
        // The compressed bytes differ, so the tag becomes a weak one, which says that the content is the same.
        if let tag = response.headers[.eTag], !tag.hasPrefix("W/") { response.headers[.eTag] = "W/" + tag }
        let body = response.body
        response.body = ResponseBody { writer in try await body.write(GzipBodyWriter(writer, level: Self.level)) }
        return response
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        contentType == WireNames.json || contentType == WireNames.problem
    }

    /// Pages of the console, and metrics in either of Prometheus' formats.
    private static func isCompressible(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        return contentType.hasPrefix("text/html") || contentType == PrometheusText.mediaType
            || contentType == DeviceMetricText.Format.openMetrics.mediaType
    }

    private static func tag(of bytes: ByteBuffer) -> String {
        let digest = bytes.withUnsafeReadableBytes { SHA256.hash(data: $0) }
        return "W/\"\(Data(digest.prefix(16)).hexadecimal)\""
    }

    /// Weak comparison, as RFC 9110 requires for `If-None-Match`.
    private static func isAmong(_ field: String, _ tag: String) -> Bool {
        let opaque = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        return RevisionTag(text: opaque).isAmong(field)
    }
}

extension Request {
    var acceptsGzip: Bool {
        (headers[.acceptEncoding] ?? "").split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            guard words.first == "gzip" || words.first == "*" else { return false }
            return !words.dropFirst().contains { $0.hasPrefix("q=0") && Double($0.dropFirst(2)) == 0 }
        }
    }
}

/// Collects a body of this program's own. A single buffer is adopted without a copy.
struct CollectingBodyWriter: ResponseBodyWriter {
    private final class Storage {
        var bytes = ByteBuffer()
    }

    private let storage: Storage

    static func bytes(of body: ResponseBody) async throws -> ByteBuffer {
        let collected = Storage()
        try await body.write(Self(storage: collected))
        return collected.bytes
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        guard storage.bytes.readableBytes > 0 else {
            storage.bytes = buffer
            return
        }
        var buffer = buffer
        storage.bytes.writeBuffer(&buffer)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

/// Compresses what is written and passes it on.
private struct GzipBodyWriter: ResponseBodyWriter {
    /// Smaller compressed pieces are collected.
    private static let pieceBytes = 16 * 1024

    private var writer: any ResponseBodyWriter
    private let compressor: GzipCompressor
    private var waiting = ByteBuffer()

    init(_ writer: any ResponseBodyWriter, level: Int) throws {
        self.writer = writer
        compressor = try GzipCompressor(level: level)
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var compressed = ByteBuffer()
        try buffer.withUnsafeReadableBytes { bytes throws(GzipError) in
            try compressor.update(bytes) { compressed.writeBytes($0) }
        }
        waiting.writeBuffer(&compressed)
        guard waiting.readableBytes >= Self.pieceBytes else { return }
        let piece = waiting
        waiting = ByteBuffer()
        try await writer.write(piece)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try compressor.finish { waiting.writeBytes($0) }
        try await writer.write(waiting)
        try await writer.finish(trailingHeaders)
    }
}

/// A revision as an entity tag, for `If-Match` and `If-None-Match`.
struct RevisionTag: Equatable {
    let text: String

    init(_ revision: UInt64) { self.init(text: "\"\(revision)\"") }

    /// - Parameter text: includes the quotes.
    init(text: String) { self.text = text }

    /// Whether the header field lists this tag or is `*`. A weak tag equals the strong one.
    func isAmong(_ field: String) -> Bool {
        field.split(separator: ",").contains { part in
            let plain = part.trimmingCharacters(in: .whitespaces)
            return plain == "*" || plain == text || plain == "W/" + text
        }
    }
}
