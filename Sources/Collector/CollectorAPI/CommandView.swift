import JSON

/// A command of a device, such as a request for logs.
package struct CommandView: Codable, Equatable, Sendable {
    package var id = ""
    package var device = ""
    /// The device's name. Only in the list over all devices; absent if it has none.
    package var deviceName: String?
    package var kind = ""
    package var arguments = CommandArguments()
    package var issuedAt = ""
    package var issuedBy = ""
    package var expiresAt = ""
    /// queued until the device says something of it; then received, running, done, failed, not-now, expired,
    /// unsupported; others may come.
    package var state = ""
    /// 0 to 1.
    package var progress = 0.0
    package var detail: String?
    package var updatedAt: String?
    /// What the device reported of itself, as in telemetry.proto. Only for `query-device-information`.
    package var deviceInformation: JSONValue?
    /// The certificate of a wipe. Absent if the device sent none.
    package var wipeCertificate: WipeCertificateView?
    /// The uploads so far, for a request for logs.
    package var uploads: [UploadView]?

    package init() {}

    /// Only a decoder of JSON values reads `deviceInformation`. Any other leaves it out.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        device = try container.decode(String.self, forKey: .device)
        deviceName = try container.decodeIfPresent(String.self, forKey: .deviceName)
        kind = try container.decode(String.self, forKey: .kind)
        arguments = try container.decode(CommandArguments.self, forKey: .arguments)
        issuedAt = try container.decode(String.self, forKey: .issuedAt)
        issuedBy = try container.decode(String.self, forKey: .issuedBy)
        expiresAt = try container.decode(String.self, forKey: .expiresAt)
        state = try container.decode(String.self, forKey: .state)
        progress = try container.decode(Double.self, forKey: .progress)
        detail = try container.decodeIfPresent(String.self, forKey: .detail)
        updatedAt = try container.decodeIfPresent(String.self, forKey: .updatedAt)
        deviceInformation = try? container.decodeIfPresent(JSONValue.self, forKey: .deviceInformation)
        wipeCertificate = try container.decodeIfPresent(WipeCertificateView.self, forKey: .wipeCertificate)
        uploads = try container.decodeIfPresent([UploadView].self, forKey: .uploads)
    }
}

/// The arguments of a command. Each kind has some of these.
package struct CommandArguments: Codable, Equatable, Sendable {
    package var mode: String?
    /// Bundle id; absent for all programs. Of `change-log-level` too.
    package var application: String?
    package var type: String?
    package var level: String?
    package var since: String?
    package var until: String?
    package var captureSeconds: Int?
    package var maximumBytes: Int?
    package var categories: [String]?
    /// Text that lines contain; of `message`, its text.
    package var text: String?
    package var includeVerboseRing: Bool?
    /// The duration of `change-log-level`.
    package var durationSeconds: Int?
    /// The command that a `cancel` is to end.
    package var command: String?
    /// The reason of `wipe` and `enterprise-wipe`.
    package var reason: String?
    /// The payload of `message`, base64.
    package var payload: String?
    /// The media type of that payload.
    package var contentType: String?

    package init() {}
}

/// A command as a person asks for it. The collector reads it with its own strict parser.
package struct CommandRequest: Encodable, Equatable, Sendable {
    package var kind: String
    package var arguments: CommandArguments
    package var expiresInSeconds: Int64?

    package init(kind: String, arguments: CommandArguments, expiresInSeconds: Int64? = nil) {
        self.kind = kind
        self.arguments = arguments
        self.expiresInSeconds = expiresInSeconds
    }
}

extension APIOperation where Answer == Page<CommandView> {
    package static var listAllCommands: Self { Self("GET", "/api/v1/device-commands") }

    package static func listCommands(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/commands")
    }
}

extension APIOperation where Answer == CommandView {
    package static func issueCommand(_ device: String) -> Self {
        Self("POST", "/api/v1/devices/\(device.percentEncoded)/commands")
    }

    package static func getCommand(_ device: String, _ command: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/commands/\(command.percentEncoded)")
    }

    package static func endCommand(_ device: String, _ command: String) -> Self {
        Self("DELETE", "/api/v1/devices/\(device.percentEncoded)/commands/\(command.percentEncoded)")
    }
}
