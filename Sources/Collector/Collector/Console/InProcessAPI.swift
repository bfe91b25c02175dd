import CollectorAPI
import Console
import Foundation
import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import Registry
import WireModel

/// The collector's API for its console: the same routes, middleware and limits, with the rights of the person who is
/// signed in. The views that the routes make are handed over as they are.
struct InProcessAPI: APITransport {
    let api: RouterResponder<CollectorRequestContext>
    let person: Person
    let context: PersonContext

    /// A route made another view than the console expects: a fault of this program.
    private struct Fault: Error {
        let path: String
        let expected: String
    }

    func perform<Answer: Codable & Sendable>(
        _ request: APIRequest, _: Answer.Type
    ) async throws -> (answer: Answer, entityTag: String?) {
        guard let method = HTTPRequest.Method(rawValue: request.method) else { throw Problem.internalFault }
        var head = HTTPRequest(method: method, scheme: nil, authority: nil, path: request.target)
        var body = ByteBuffer()
        if let json = request.body {
            head.headerFields[.contentType] = method == .patch ? WireNames.mergePatch : WireNames.json
            body = ByteBuffer(bytes: try JSONEncoder.stable().encode(json))
        }
        head.headerFields[.ifMatch] = request.ifMatch
        head.headerFields[.ifNoneMatch] = request.ifNoneMatch
        head.headerFields[.idempotencyKey] = request.idempotencyKey
        let handover = Handover()
        let response = try await Handover.$current.withValue(handover) {
            let response = try await api.respond(
                to: Request(head: head, body: RequestBody(buffer: body)),
                context: CollectorRequestContext(of: context, signedIn: person))
            // Counts the request as answered.
            _ = try await CollectingBodyWriter.bytes(of: response.body)
            return response
        }
        let view = handover.view ?? NoAnswer()
        if let problem = view as? Problem { throw problem }
        guard let answer = view as? Answer else { throw Fault(path: request.path, expected: "\(Answer.self)") }
        return (answer, response.headers[.eTag])
    }
}
