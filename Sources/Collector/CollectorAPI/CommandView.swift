/// A command of a device, such as a request for logs.
package struct CommandView: Codable, Equatable, Sendable {
    package var id = ""
    package var device = ""
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
    /// The uploads so far, for a request for logs.
    package var uploads: [UploadView]?

    package init() {}
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
    package var text: String?
    package var includeVerboseRing: Bool?
    /// The duration of `change-log-level`.
    package var durationSeconds: Int?
    /// The command that a `cancel` is to end.
    package var command: String?
    /// The reason of `wipe` and `enterprise-wipe`.
    package var reason: String?

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
