import Hummingbird
import NIOCore
import WireModel

/// A request's body as it comes, of which the beginning can be waited for.
///
/// Not `Sendable`: one task reads it.
struct BodySource {
    private var iterator: RequestBody.AsyncIterator
    private var beginning: [ByteBuffer] = []
    private var hasEnded = false

    init(_ body: RequestBody) { iterator = body.makeAsyncIterator() }

    /// Waits until so many bytes have come, or all.
    /// - Throws: `Problem`, as `next` does.
    mutating func begin(_ bytes: Int) async throws {
        var come = 0
        while come < bytes, let buffer = try await read() {
            come += buffer.readableBytes
            beginning.append(buffer)
        }
        // The next is taken from the end.
        beginning.reverse()
    }

    /// - Throws: `Problem` for a body that breaks off, or whose chunks are not chunks: the sender's fault and not the collector's.
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
        } catch {
            throw Problem.malformed("The body cannot be read to its end: \(error).", code: "malformed-http")
        }
    }
}
