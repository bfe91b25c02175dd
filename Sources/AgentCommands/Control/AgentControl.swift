import DataSampler
import FoundationEssentials
import WireModel

/// What a running agent answers to the commands that reach it through its control socket.
struct AgentControl: Sendable {
    let sampler: DataSampler

    func answer(_ request: WireControlRequest) async -> WireControlAnswer {
        do throws(DataSamplerError) {
            var answer = WireControlAnswer()
            answer.succeeded = true
            switch request.action {
            case .event(let control):
                answer.number = try await sampler.record(AnalyticsEvent(control.event), durability: .durable) ?? 0
            case .beacon: answer.number = try await sampler.sendBeaconNumbered()
            case .status: answer.json = try JSONText.bytes(try await sampler.status())
            case .balance: answer.json = try JSONText.bytes(try await sampler.balance())
            case .queue, .unenroll, .wipe, .reload, .consent, .pushToken, .doNotDisturb, .unlock, .profile, nil:
                return .failure(code: "unknown-request", message: "this agent does not know the request: update it", exitCode: 1)
            }
            return answer
        } catch {
            return .failure(code: "\(error.code)", message: error.message, exitCode: AgentError(error).exitCode)
        }
    }
}

/// The JSON the agent prints and hands over.
enum JSONText {
    static func bytes(_ value: some Encodable) throws(DataSamplerError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do { return try encoder.encode(value) } catch {
            throw DataSamplerError(.queue, "the answer cannot be written as JSON: \(error)", cause: error)
        }
    }
}
