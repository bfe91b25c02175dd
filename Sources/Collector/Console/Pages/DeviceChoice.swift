import Foundation
import JSON

/// The device that a page's filter `device` names: by its id, or by words that find it.
enum DeviceChoice {
    /// No device is named: all are meant.
    case all
    case one(JSONValue)
    /// The first of those that the words find; none, if they find nothing.
    case several([JSONValue], total: Int)

    private static let shown = "20"

    init(_ visit: Visit) async throws {
        guard let text = visit.query.text("device") else {
            self = .all
            return
        }
        if UUID(uuidString: text) != nil,
            let device = try await visit.api.find("/api/v1/devices/\(text.percentEncoded)")
        {
            self = .one(device)
            return
        }
        let page = try await visit.api.get(
            "/api/v1/devices", [("q", String(text.prefix(256))), ("test", "true"), ("limit", Self.shown)])
        let found = page.pageItems
        self = found.count == 1 ? .one(found[0]) : .several(found, total: Int(page["total"].integer ?? 0))
    }

    /// The device, if there is one; `nil` for all.
    var device: JSONValue? { if case .one(let device) = self { device } else { nil } }

    /// The values for the template `device-choice`: what the words found, each with the page's address for that device.
    func values(at visit: Visit) -> JSONValue {
        guard case .several(let devices, let total) = self else { return .null }
        let kept = visit.query.with("cursor")
        return [
            "words": JSONValue(visit.query.text("device")), "total": JSONValue(total),
            "isCut": .boolean(total > devices.count), "hasDevices": .boolean(!devices.isEmpty),
            "devices": .array(
                devices.map { device in
                    let id = device["id"].text ?? ""
                    return [
                        "name": .text(Self.name(of: device)), "id": .text(id), "test": device["test"],
                        "organization": device["organization"],
                        "address": .text(visit.base + kept.with("device", id).address(visit.path)),
                    ]
                }),
        ]
    }

    /// The id of a device without a name.
    static func name(of device: JSONValue) -> String {
        device["name"].text.flatMap { $0.isEmpty ? nil : $0 } ?? device["id"].text ?? ""
    }
}
