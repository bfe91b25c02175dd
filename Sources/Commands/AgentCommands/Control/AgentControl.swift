import CommandKit
import ControlSocket
import DataSampler
import Encryption
import FoundationEssentials
import LogStore
import Transmitter
import WireModel

/// Answers the commands that reach the agent through its control socket.
struct AgentControl: Sendable {
    /// The most records on a page of an export.
    static let exportLimit = 256

    let sampler: DataSampler
    let hook: NoticeHook?

    func answer(_ request: WireControlRequest) async -> WireControlAnswer {
        do throws(DataSamplerError) {
            switch request.action {
            case .event(let control):
                let application = control.application.isEmpty ? nil : control.application
                let number =
                    try await sampler.record(AnalyticsEvent(control.event), of: application, durability: .durable) ?? 0
                // The event is recorded, so a status that cannot be read is left out.
                guard let status = try? await sampler.status() else { return .numbered(number) }
                return try .event(number, EventPlan(status))
            case .beacon(let control):
                guard control.waitSeconds > 0 else { return .numbered(try await sampler.sendBeaconNumbered()) }
                return .delivered(
                    try await sampler.sendBeaconNumbered(deliveredWithin: .seconds(control.waitSeconds)))
            case .user(let control): try await sampler.setUser(DeviceUser(control))
            case .unlock: return .numbered(try await sampler.unlockedNumbered())
            case .status:
                return try .json(AgentStatus(sampler: try await sampler.status(), noticeHook: hook?.status))
            case .balance: return try .json(try await sampler.balance())
            case .queue(let control): return try await answer(control)
            case .profile: return try .json(try await sampler.profile())
            case .reload: try await sampler.reloadProfile()
            case .wipe(let control): return try .json(try await sampler.wipeCertified(reason: control.reason))
            case .resetCredentials: try await sampler.resetCredentials()
            case .unenroll: return .numbered(try await sampler.unenroll() ? 1 : 0)
            case .unenrollWithWipe(let control):
                let left = try await sampler.unenrollCertified(reason: control.reason)
                var answer = try WireControlAnswer.json(left.certificate)
                answer.number = left.isComplete ? 1 : 0
                return answer
            case .doNotDisturb(let control): try await sampler.setDoNotDisturb(control.on)
            case .refresh: return try .json(try await refresh())
            case .fetchDoNotDisturb: return try .json(try await sampler.fetchDeviceDNDStatus())
            case .pushToken(let control): return try await setPushToken(control)
            case .consent(let control): try await setConsent(control.consent)
            case .passcode(let control): try await enter(control)
            case .giveUpSealed: try await sampler.giveUpSealed()
            case .log(let control): return try await LogControl(sampler: sampler).answer(control)
            case .sendLogs(let control): return try await LogControl(sampler: sampler).answer(control)
            case .logUploads(let control): return try await LogControl(sampler: sampler).answer(control)
            case .logKeys: return try await LogControl(sampler: sampler).answerKeys()
            case nil: return Self.unknown
            }
            return .done
        } catch {
            return .failure(code: "\(error.code)", message: error.message, exitCode: CommandError(error).exitCode)
        }
    }

    private func answer(_ control: WireControlQueue) async throws(DataSamplerError) -> WireControlAnswer {
        let tools = try sampler.queueTools()
        switch control.verb {
        case .inspect: return try .json(try await tools.inspect())
        case .verify: return try .json(try await tools.verify())
        case .export: return try await export(tools, after: control.cursor.isEmpty ? nil : control.cursor)
        case .retry:
            let retry = try await tools.retry(Set(control.setAside), includingUncertain: control.uncertain)
            try sampler.transmitNow()
            return try .json(retry)
        case .rebindSend: try await tools.rebind(sending: true)
        case .rebindDrop: try await tools.rebind(sending: false)
        case .unspecified, .UNRECOGNIZED: return Self.unknown
        }
        return .done
    }

    /// A page that fits into a frame, with fewer records if they are large. The largest record fits alone.
    private func export(_ tools: QueueTools, after cursor: String?) async throws(DataSamplerError) -> WireControlAnswer
    {
        var limit = Self.exportLimit
        while true {
            let answer = try WireControlAnswer.json(try await tools.export(after: cursor, limit: limit))
            if answer.json.count <= ControlFrame.maximumBytes - 1024 || limit == 1 { return answer }
            limit /= 2
        }
    }

    private func refresh() async throws(DataSamplerError) -> RefreshAnswer {
        let information = try await sampler.requery()
        let assigned = try await sampler.fetchApplicationAssignmentStatus()
        return RefreshAnswer(information: information.described, applications: assigned.applications)
    }

    private func setPushToken(_ control: WireControlPushToken) async throws(DataSamplerError)
        -> WireControlAnswer
    {
        let token: String?
        switch control.token.state {
        case .token(let text): token = text
        case .cleared: token = nil
        case nil: throw DataSamplerError(.invalidArgument, "the request neither sets nor clears the push token")
        }
        guard control.waitSeconds > 0 else {
            try await sampler.setPushToken(token)
            return .done
        }
        try await sampler.setPushToken(token, deliveredWithin: .seconds(control.waitSeconds))
        return .delivered(0)
    }

    private func enter(_ control: WireControlPasscode) async throws(DataSamplerError) {
        guard !control.replacement.isEmpty else { return try await sampler.enterPasscode(control.passcode) }
        try await sampler.changePasscode(from: control.passcode, to: control.replacement)
    }

    private func setConsent(_ consent: WireConsent) async throws(DataSamplerError) {
        switch consent {
        case .granted: try await sampler.setConsent(.granted)
        case .pending: try await sampler.setConsent(.pending)
        case .denied: try await sampler.setConsent(.denied)
        case .unspecified, .UNRECOGNIZED:
            throw DataSamplerError(.invalidArgument, "consent must be granted, pending or denied")
        }
    }

    private static let unknown = WireControlAnswer.failure(
        code: "unknown-request", message: "this agent does not know the request: update the agent", exitCode: 1)
}

extension DeviceUser {
    /// `nil` if no field is given.
    init?(_ control: WireControlUser) {
        guard control.hasEmail || control.hasFullName || control.hasDisplayName else { return nil }
        self.init(
            email: control.hasEmail ? control.email : nil, fullName: control.hasFullName ? control.fullName : nil,
            displayName: control.hasDisplayName ? control.displayName : nil)
    }
}

/// The collector's answer about this device.
struct RefreshAnswer: Codable {
    var information: [String: String]
    /// Assigned to this device; `nil` if the organization keeps no list.
    var applications: [String]?
}

/// Answers the commands about logs.
struct LogControl: Sendable {
    let sampler: DataSampler

    func answer(_ control: WireControlLog) async throws(DataSamplerError) -> WireControlAnswer {
        var entries: [LogEntry] = []
        for line in control.lines {
            guard let entry = LogEntry(line) else {
                throw DataSamplerError(
                    .invalidArgument, "this agent does not know a line's level: update it. Nothing was logged")
            }
            entries.append(entry)
        }
        return try .json(try await sampler.deliverLogs(entries, of: control.application))
    }

    func answer(_ control: WireControlSendLogs) async throws(DataSamplerError) -> WireControlAnswer {
        try .json(
            try await sampler.sendLogs(control.request, whenAllowed: control.whenAllowed).map { LogUploadReport($0) })
    }

    /// The keys of the log segments, for `ws1log` beside the agent. Whoever may use the socket may read the logs.
    func answerKeys() async throws(DataSamplerError) -> WireControlAnswer {
        let store = try sampler.logs()
        let list: KeyList?
        do throws(EncryptionError) { list = try store.keyList() } catch {
            return .failure(code: error.code.rawValue, message: error.message, exitCode: error.isTemporary ? 75 : 1)
        }
        return try .json(list ?? KeyList(keys: []))
    }

    func answer(_ control: WireControlLogUploads) async throws(DataSamplerError) -> WireControlAnswer {
        try .json(try await sampler.logUploads(control.ids).map { LogUploadReport($0) })
    }
}

extension LogEntry {
    /// `nil` if the level is unknown.
    init?(_ line: WireControlLogLine) {
        guard let level = LogLevel(line.level) else { return nil }
        self.init(
            level, line.message, category: line.category, metadata: line.metadata,
            leftOutBytes: Int(clamping: line.leftOutBytes))
    }

    var wire: WireControlLogLine {
        var line = WireControlLogLine()
        line.level = level.wire
        line.category = category
        line.message = message
        line.metadata = metadata
        line.leftOutBytes = UInt64(leftOutBytes)
        return line
    }
}

extension LogUploadReport {
    init(_ upload: LogUpload) {
        let state: State =
            switch upload.phase {
            case .announcing, .sending, .completing: .underWay
            case .done: .done
            case .failed: .failed
            case .cancelled: .cancelled
            }
        self.init(
            id: UploadID(upload.id).map(\.description) ?? "",
            type: upload.isCrash ? LogType.crash.rawValue : LogType.application.rawValue,
            state: state, chunks: upload.chunkCount,
            sent: max(0, Int(upload.progress) * upload.chunkCount / 10_000 - upload.gone.count),
            gone: upload.gone.count, bytes: upload.rawBytes, detail: upload.detail)
    }
}
