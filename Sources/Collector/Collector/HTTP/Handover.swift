import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import WireModel

/// Where an answer goes if the collector itself asks, as the console does: the view as it is, instead of its JSON.
///
/// A route makes its answer with `response(status:)` in either case, so it does not know who asks.
final class Handover: Sendable {
    /// Of the request that this task performs; `nil` for a request from outside.
    @TaskLocal static var current: Handover?

    private let answer = Mutex<(any Sendable)?>(nil)

    func put(_ view: some Sendable) { answer.withLock { $0 = view } }

    /// The view; `nil` if the answer has no body.
    var view: (any Sendable)? { answer.withLock { $0 } }
}

extension Encodable where Self: Sendable {
    /// The view as an answer: as JSON, or handed over as it is.
    func response(status: HTTPResponse.Status = .ok) throws -> Response {
        if let handover = Handover.current {
            handover.put(self)
            return Response(status: status)
        }
        return Response(
            status: status, headers: [.contentType: WireNames.json, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: try JSONEncoder.stable().encode(self))))
    }
}
