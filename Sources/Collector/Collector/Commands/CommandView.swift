import CollectorStore
import Foundation
import SwiftProtobuf
import WireModel

/// A command as people see it.
struct CommandView: Encodable {
    var id: String
    var device: String
    var kind: String
    var arguments: JSONValue
    var issuedAt: String
    var issuedBy: String
    var expiresAt: String
    /// `queued` until the device says something of it.
    var state: String
    /// 0 to 1.
    var progress: Double
    var detail: String?
    var updatedAt: String?
    var deviceInformation: JSONValue?
    /// Of a request for logs: what has come.
    var uploads: [UploadView]?

    init(_ row: CommandRow, now: Int64) throws {
        id = row.id?.description ?? ""
        device = row.device.description
        issuedAt = Timestamp.text(row.created)
        issuedBy = row.issuer
        expiresAt = Timestamp.text(row.expires)
        state = EnumName.commandState.name(row.state(at: now))
        progress = Double(row.status.progress) / 10_000
        detail = row.status.detail.isEmpty ? nil : row.status.detail
        updatedAt = row.updated.map(Timestamp.text)
        deviceInformation = try row.status.information.map(MessageView.json)
        kind = row.command.action?.kind ?? "unknown"
        arguments = .object(Self.arguments(of: row.command.action))
    }

    private static func arguments(of action: WireCommand.OneOf_Action?) -> [String: JSONValue] {
        switch action {
        case .requestLogs(let request):
            var fields: [String: JSONValue] = [
                "mode": .text(EnumName.requestMode.name(request.mode)), "type": .text(EnumName.logType.name(request.type)),
                "level": .text(EnumName.logLevel.name(request.level)), "includeVerboseRing": .boolean(request.includeVerboseRing),
            ]
            if request.hasSince { fields["since"] = .text(Timestamp.text(request.since)) }
            if request.hasUntil { fields["until"] = .text(Timestamp.text(request.until)) }
            if request.captureSeconds > 0 { fields["captureSeconds"] = .integer(Int64(request.captureSeconds)) }
            if request.maximumBytes > 0 { fields["maximumBytes"] = .unsigned(request.maximumBytes) }
            if !request.categories.isEmpty { fields["categories"] = .array(request.categories.map { .text($0) }) }
            if !request.text.isEmpty { fields["text"] = .text(request.text) }
            return fields
        case .cancel(let cancel): return ["command": .text(CommandID(cancel.commandID)?.description ?? "")]
        case .sendBeacon, .queryDeviceInformation, .reloadProfile, nil: return [:]
        case .changeLogLevel(let change):
            return ["level": .text(EnumName.logLevel.name(change.level)), "durationSeconds": .integer(Int64(change.durationSeconds))]
        case .wipe(let wipe): return wipe.reason.isEmpty ? [:] : ["reason": .text(wipe.reason)]
        }
    }
}
