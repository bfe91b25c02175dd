import CollectorAPI
import Foundation
import LogArchive
import Registry
import WireModel

/// A request for a command: `{kind, arguments, expiresAt | expiresInSeconds}`.
struct CommandDocument {
    var action: WireCommand.OneOf_Action
    /// Microseconds since 1970.
    var expires: Int64

    /// The default lifetime: one day.
    static let defaultSeconds: Int64 = 86_400
    /// Lifetime in seconds: at most 30 d.
    static let seconds: ClosedRange<Int64> = 1...(30 * 86_400)
    /// Duration of a capture or a temporary log level in seconds: 1 s to 24 h.
    static let lastingSeconds: ClosedRange<UInt32> = 1...86_400
    static let textBytes = 1024

    init(_ body: Data, now: Int64) throws(Problem) {
        var fields = try FieldReader(body: body)
        try self.init(&fields, now: now)
        try fields.finish()
    }

    /// Reads its fields among others.
    init(_ fields: inout FieldReader, now: Int64) throws(Problem) {
        guard let kind = try fields.text("kind") else {
            throw .invalidField("kind", "is missing. Known: \(Self.kinds).")
        }
        let given = try fields.object("arguments")
        let expiresAt = try fields.time("expiresAt")
        let lasting = try fields.integer("expiresInSeconds", Self.seconds)
        guard expiresAt == nil || lasting == nil else {
            throw .invalidField("expiresInSeconds", "does not go with `expiresAt`.")
        }
        expires = expiresAt ?? now + (lasting ?? Self.defaultSeconds) * 1_000_000
        guard expires > now, expires - now <= Self.seconds.upperBound * 1_000_000 else {
            throw .invalidField("expiresAt", "is not within the next 30 days.")
        }
        var arguments = given
        switch kind {
        case "request-logs": action = .requestLogs(try Self.requestLogs(&arguments))
        case "cancel": action = .cancel(try Self.cancel(&arguments))
        case "send-beacon": action = .sendBeacon(WireSendBeacon())
        case "query-device-information": action = .queryDeviceInformation(WireQueryDeviceInformation())
        case "reload-profile": action = .reloadProfile(WireReloadProfile())
        case "change-log-level": action = .changeLogLevel(try Self.changeLogLevel(&arguments))
        case "wipe":
            var wipe = WireWipe()
            if let reason = try Self.bounded(&arguments, "reason") { wipe.reason = reason }
            action = .wipe(wipe)
        case "enterprise-wipe":
            var wipe = WireEnterpriseWipe()
            if let reason = try Self.bounded(&arguments, "reason") { wipe.reason = reason }
            action = .enterpriseWipe(wipe)
        case "message": action = .message(try Self.message(&arguments))
        default: throw .invalidField("kind", "is \(kind.utf8.count <= 64 ? kind : "too long"). Known: \(Self.kinds).")
        }
        try arguments?.finish()
    }

    static let kindNames = [
        "request-logs", "cancel", "send-beacon", "query-device-information", "reload-profile", "change-log-level",
        "wipe", "enterprise-wipe", "message",
    ]
    private static let kinds = kindNames.joined(separator: ", ")

    var role: PersonRole { action.role }

    private static func requestLogs(_ fields: inout FieldReader?) throws(Problem) -> WireRequestLogs {
        var request = WireRequestLogs()
        request.mode = .snapshot
        if let mode = try fields?.text("mode") { request.mode = try EnumName.mode.value(mode, "arguments.mode") }
        if let type = try fields?.text("type") { request.type = try EnumName.logType.value(type, "arguments.type") }
        guard request.mode != .capture || request.type != .crash else {
            throw .invalidField("arguments.type", "is crash; crashes cannot be captured. Request a snapshot of them.")
        }
        request.application = try application(&fields)
        request.level = .verbose
        var asksForVerbose = false
        if let level = try fields?.text("level") {
            request.level = try EnumName.logLevel.value(level, "arguments.level")
            asksForVerbose = request.mode == .snapshot && request.level == .verbose
        }
        if let since = try fields?.time("since") { request.since = since }
        if let until = try fields?.time("until") { request.until = until }
        guard !request.hasSince || !request.hasUntil || request.since < request.until else {
            throw .invalidField("arguments.until", "is not after `since`.")
        }
        let seconds = try fields?.integer("captureSeconds", lastingSeconds)
        guard (request.mode == .capture) == (seconds != nil) else {
            throw .invalidField("arguments.captureSeconds", "must be given with mode capture, and only then.")
        }
        request.captureSeconds = seconds ?? 0
        request.maximumBytes = try fields?.integer("maximumBytes", 0...UInt64(Int64.max)) ?? 0
        request.categories = try fields?.texts("categories") ?? []
        guard request.categories.count <= LogLimits.filterCategories,
            request.categories.allSatisfy({ (1...LogLimits.categoryBytes).contains($0.utf8.count) })
        else {
            throw .invalidField(
                "arguments.categories",
                "must have at most \(LogLimits.filterCategories) names, each of 1 to \(LogLimits.categoryBytes) bytes.")
        }
        request.text = try bounded(&fields, "text") ?? ""
        // A device mostly has verbose lines nowhere else.
        request.includeVerboseRing = try fields?.flag("includeVerboseRing") ?? asksForVerbose
        return request
    }

    private static func cancel(_ fields: inout FieldReader?) throws(Problem) -> WireCancelCommand {
        guard let text = try fields?.text("command"), let id = CommandID(text) else {
            throw .invalidField("arguments.command", "is not a command's id (a UUID).")
        }
        var cancel = WireCancelCommand()
        cancel.commandID = id.data
        return cancel
    }

    private static func changeLogLevel(_ fields: inout FieldReader?) throws(Problem) -> WireChangeLogLevel {
        guard let level = try fields?.text("level") else { throw .invalidField("arguments.level", "is missing.") }
        guard let seconds = try fields?.integer("durationSeconds", lastingSeconds) else {
            throw .invalidField(
                "arguments.durationSeconds", "is missing; \(lastingSeconds.lowerBound) to \(lastingSeconds.upperBound)."
            )
        }
        var change = WireChangeLogLevel()
        change.level = try EnumName.logLevel.value(level, "arguments.level")
        change.durationSeconds = seconds
        change.application = try application(&fields)
        return change
    }

    private static func message(_ fields: inout FieldReader?) throws(Problem) -> WireDeliverMessage {
        var message = WireDeliverMessage()
        message.text = try fields?.text("text") ?? ""
        if let text = try fields?.text("payload") {
            guard let payload = Data(base64Encoded: text), !payload.isEmpty else {
                throw .invalidField("arguments.payload", "is not base64 (RFC 4648) of 1 byte or more.")
            }
            message.payload = payload
        }
        message.contentType = try fields?.text("contentType") ?? ""
        if let (field, rule) = message.objection { throw .invalidField("arguments.\(field)", rule) }
        return message
    }

    /// The bundle id of one program; empty for all.
    private static func application(_ fields: inout FieldReader?) throws(Problem) -> String {
        let text = try fields?.text("application") ?? ""
        guard text.utf8.count <= UploadManifest.textBytes, !text.hasControlCharacters else {
            throw .invalidField(
                "arguments.application", "has more than \(UploadManifest.textBytes) bytes, or control characters.")
        }
        return text
    }

    private static func bounded(_ fields: inout FieldReader?, _ name: String) throws(Problem) -> String? {
        guard let text = try fields?.text(name) else { return nil }
        guard text.utf8.count <= textBytes else {
            throw .invalidField("arguments.\(name)", "has more than \(textBytes) bytes.")
        }
        return text
    }
}

extension WireCommand.OneOf_Action {
    /// Erasing a device's data requires an administrator. Operators may request everything else.
    var role: PersonRole {
        switch self {
        case .wipe, .enterpriseWipe: .administrator
        case .requestLogs, .cancel, .sendBeacon, .queryDeviceInformation, .reloadProfile, .changeLogLevel, .message:
            .operator
        }
    }
}
