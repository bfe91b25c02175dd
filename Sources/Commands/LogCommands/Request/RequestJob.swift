import CollectorAPI
import CollectorClient
import CommandKit
import TelemetryBasics
import WireModel

/// A request for logs of many devices: those of an organization, or those of an application. The collector works it off
/// as a job, a few devices at a time.
struct RequestJob {
    /// The request to the collector. Without `confirm` it says how many devices are meant.
    private struct Body: Encodable {
        var action = "command"
        var kind: String
        var arguments: CommandArguments
        var expiresInSeconds: Int64?
        var filter: [String: String]
        var confirm: String?
    }

    /// A proposal has `confirm`; a job that has begun has `id`.
    private struct Answer: Decodable {
        var devices: Int
        var confirm: String?
        var id: String?
    }

    private static let route = "/api/v1/device-jobs"

    let request: CommandRequest
    /// Bundle id: devices of this application only; `nil` for all.
    let application: String?

    /// - Returns: the job's id.
    /// - Throws: `.usage` and `.failed` if nobody confirms; what the collector refuses.
    func begin(_ client: CollectorClient, _ confirmation: ConfirmationOptions) async throws -> String {
        var body = Body(
            kind: request.kind, arguments: request.arguments, expiresInSeconds: request.expiresInSeconds,
            filter: application.map { ["application": $0] } ?? [:])
        // Nothing begins without confirmation, so this key is never looked at again.
        let proposal: Answer = try await client.post(Self.route, body, key: "ws1log-\(RequestID.random())")
        guard let confirm = proposal.confirm, proposal.devices > 0 else {
            throw CommandError(
                .failed,
                application.map { "no device runs the application \($0). Nothing was asked" }
                    ?? "there is no device. Nothing was asked")
        }
        try confirmation.confirm("\(CountText.of(proposal.devices, "device")) will be asked for logs")
        body.confirm = confirm
        let job: Answer = try await client.post(Self.route, body, key: "ws1log-\(RequestID.random())")
        guard let id = job.id else { throw CommandError(.failed, "\(client.name) began no job, and did not say why") }
        return id
    }
}
