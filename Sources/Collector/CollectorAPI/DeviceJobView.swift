import JSON

/// An action on many devices, as people see it.
package struct DeviceJobView: Codable, Equatable, Sendable {
    package var id = ""
    /// Absent if its devices may be of several organizations.
    package var organization: String?
    package var action = ""
    /// The arguments of the action; absent fields do not belong to it.
    package var kind: String?
    package var arguments: CommandArguments?
    package var expiresAt: String?
    package var closeEnrollmentToken: Bool?
    package var on: Bool?
    /// The filter as it was given; absent if the devices were named.
    package var filter: JSONValue?
    /// The name of the person's token.
    package var startedBy = ""
    package var startedAt = ""
    package var endedAt: String?
    /// Why it ended before it came to all devices.
    package var endReason: String?
    package var state = ""
    package var devices = 0
    package var done = 0
    package var refused = 0
    /// Devices that it has not come to. It comes to none of them any more once it was cancelled.
    package var waiting = 0

    package init() {}
}

/// The outcome of a job for one device.
package struct DeviceJobResultView: Codable, Equatable, Sendable {
    package var device = ""
    /// Absent if the device is deleted.
    package var name: String?
    package var result = ""
    /// The code of the problem with which the action on the single device is refused.
    package var code: String?
    package var detail: String?
    /// The id of the command that was issued.
    package var command: String?
    /// Absent while the job has not come to the device.
    package var at: String?

    package init() {}
}

/// The effect that a job would have, for the person to confirm.
package struct DeviceJobProposal: Codable, Equatable, Sendable {
    /// Devices that were selected.
    package var devices = 0
    /// The value to send as `confirm`; absent if no device was selected.
    package var confirm: String?

    package init() {}
}

extension APIOperation where Answer == Page<DeviceJobView> {
    package static var listDeviceJobs: Self { Self("GET", "/api/v1/device-jobs") }
}

extension APIOperation where Answer == DeviceJobProposal {
    /// `beginDeviceJob` without `confirm`: nothing begins.
    package static var proposeDeviceJob: Self { Self("POST", "/api/v1/device-jobs") }
}

extension APIOperation where Answer == DeviceJobView {
    /// With the `confirm` of a proposal.
    package static var beginDeviceJob: Self { Self("POST", "/api/v1/device-jobs") }
    package static func getDeviceJob(_ job: String) -> Self { Self("GET", "/api/v1/device-jobs/\(job.percentEncoded)") }

    package static func cancelDeviceJob(_ job: String) -> Self {
        Self("POST", "/api/v1/device-jobs/\(job.percentEncoded)/cancel")
    }
}

extension APIOperation where Answer == Page<DeviceJobResultView> {
    package static func listDeviceJobResults(_ job: String) -> Self {
        Self("GET", "/api/v1/device-jobs/\(job.percentEncoded)/devices")
    }
}
