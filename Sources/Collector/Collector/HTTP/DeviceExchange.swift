import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Registry
import Synchronization
import WireModel

/// How a device's request came that is not over HTTP, and which device sent it.
final class DeviceOrigin: Sendable {
    /// The sender as limits and log lines have it, in the place of an address.
    let peer: String
    private let device = Mutex<DeviceRow?>(nil)

    init(peer: String) { self.peer = peer }

    func authenticated(_ device: DeviceRow) { self.device.withLock { $0 = device } }

    /// The device whose credential was accepted; `nil` if none was.
    var authenticatedDevice: DeviceRow? { device.withLock { $0 } }
}

/// The routes of devices for requests that come another way than over HTTP, such as through a message broker.
///
/// A request passes the same middleware, limits and handlers as one over HTTP. The routes of people are not reachable.
/// Safe from any task.
package struct DeviceExchange: Sendable {
    package struct Answer: Sendable {
        package var status: Int
        package var headers: HTTPFields
        package var body: ByteBuffer
        /// The device whose credential the request had; `nil` if the request was refused before, or needs none.
        package var device: DeviceRow?
    }

    let api: RouterResponder<CollectorRequestContext>
    let refusals: RefusalMiddleware
    let identity: CollectorIdentity
    let logger: Logger

    /// Answers one request. What goes wrong is a problem among the answers, as over HTTP.
    /// - Parameters:
    ///   - head: with the path from `/api/` on.
    ///   - body: as the device sent it; it may be compressed. It is read only once the sender and its limits are
    ///     checked. A `Problem` that it throws becomes the answer.
    ///   - peer: the sender as limits and log lines have it, in the place of an address.
    package func answer(_ head: HTTPRequest, body: RequestBody, from peer: String) async -> Answer {
        let origin = DeviceOrigin(peer: peer)
        return await answer(origin) {
            try await api.respond(
                to: Request(head: head, body: body), context: CollectorRequestContext(from: origin, logger: logger))
        }
    }

    /// The answer to a request that cannot be given to a route. It is counted and logged like other refusals.
    package func refuse(_ problem: Problem, _ head: HTTPRequest, from peer: String) async -> Answer {
        let origin = DeviceOrigin(peer: peer)
        return await answer(origin) {
            var response = try await refusals.handle(
                Request(head: head, body: RequestBody(buffer: ByteBuffer())),
                context: CollectorRequestContext(from: origin, logger: logger)
            ) { _, _ in throw problem }
            identity.add(to: &response.headers)
            return response
        }
    }

    private func answer(_ origin: DeviceOrigin, _ respond: () async throws -> Response) async -> Answer {
        do {
            let response = try await respond()
            return Answer(
                status: response.status.code, headers: response.headers,
                body: try await CollectingBodyWriter.bytes(of: response.body), device: origin.authenticatedDevice)
        } catch {
            // The middleware turns errors into answers, so only a body that cannot be written comes here.
            logger.error("answer not made", metadata: ["error": "\(error)"])
            let problem = Problem.internalFault
            return Answer(status: problem.status, headers: problem.headerFields, body: problem.body)
        }
    }
}
