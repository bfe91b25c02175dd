import CollectorAPI
import CollectorStore
import Foundation
import JSON
import TelemetryBasics
import WireModel

/// An action on many devices, as people see it.
struct DeviceJobView: Encodable {
    var id: String
    /// Absent if its devices may be of several organizations.
    var organization: String?
    var action: String
    /// The arguments of the action; absent fields do not belong to it.
    var kind: String?
    var arguments: CommandArguments?
    var expiresAt: String?
    var closeEnrollmentToken: Bool?
    var on: Bool?
    /// The filter as it was given; absent if the devices were named.
    var filter: JSONValue?
    /// The name of the person's token.
    var startedBy: String
    var startedAt: String
    var endedAt: String?
    /// Why it ended before it came to all devices.
    var endReason: String?
    var state: String
    var devices: Int
    var done: Int
    var refused: Int
    /// Devices that it has not come to. It comes to none of them any more once it was cancelled.
    var waiting: Int

    init(_ job: DeviceJobRow) throws {
        id = job.id.description
        organization = job.organization
        action = job.action.kind.rawValue
        switch job.action {
        case .command(let command, let expires):
            kind = command.kind
            arguments = CommandArguments(command)
            expiresAt = Timestamp.text(expires)
        case .revoke(let closingToken): closeEnrollmentToken = closingToken
        case .doNotDisturb(let isOn): on = isOn
        case .reinstate, .delete: break
        }
        filter = try job.filter.map { try JSONValue(parsing: Data($0.utf8), limits: .request) }
        startedBy = job.actor.name
        startedAt = Timestamp.text(job.created)
        endedAt = job.ended.map(Timestamp.text)
        endReason = job.endReason
        state = job.state.name
        devices = job.devices
        done = job.done
        refused = job.refused
        waiting = job.remaining
    }
}

/// The outcome of a job for one device.
struct DeviceJobResultView: Encodable {
    var device: String
    /// Absent if the device is deleted.
    var name: String?
    var result: String
    /// The code of the problem with which the action on the single device is refused.
    var code: String?
    var detail: String?
    /// The id of the command that was issued.
    var command: String?
    /// Absent while the job has not come to the device.
    var at: String?

    init(_ result: DeviceJobResult) {
        device = result.device.description
        name = result.name
        self.result = result.outcome.name
        code = result.code
        detail = result.detail
        command = result.command?.description
        at = result.at.map(Timestamp.text)
    }
}

extension DeviceJobRow.State {
    var name: String {
        switch self {
        case .preparing: "preparing"
        case .running: "running"
        case .done: "done"
        case .cancelled, .removed: "cancelled"
        }
    }
}

extension DeviceJobResult.Outcome {
    var name: String {
        switch self {
        case .waiting: "waiting"
        case .done: "done"
        case .refused: "refused"
        }
    }
}
