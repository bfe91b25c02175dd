import CollectorAPI
import Foundation
import JSON
import Registry
import TelemetryBasics
import WireModel

extension DeviceJobView {
    init(_ job: DeviceJobRow) throws {
        self.init()
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

extension DeviceJobResultView {
    init(_ result: DeviceJobResult) {
        self.init()
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
