import CollectorAPI
import Foundation
import JSON

/// The device that a page's filter `device` names: by its id, or by words that find it.
enum DeviceChoice {
    /// No device is named: all are meant.
    case all
    case one(DeviceView)
    /// The first of those that the words find; none, if they find nothing.
    case several([DeviceView], total: Int)

    private static let shown = "20"

    init(_ visit: Visit) async throws {
        guard let text = visit.query.text("device") else {
            self = .all
            return
        }
        if UUID(uuidString: text) != nil,
            let device = try await visit.api.find(.getDevice(text))
        {
            self = .one(device)
            return
        }
        let page = try await visit.api.call(
            .listDevices, [("q", String(text.prefix(256))), ("test", "true"), ("limit", Self.shown)])
        let found = page.items
        self = found.count == 1 ? .one(found[0]) : .several(found, total: page.total ?? 0)
    }

    /// The device, if there is one; `nil` for all.
    var device: DeviceView? { if case .one(let device) = self { device } else { nil } }

    /// The values for the template `device-choice`: what the words found, each with the page's address for that device.
    func values(at visit: Visit) -> JSONValue {
        guard case .several(let devices, let total) = self else { return .null }
        let kept = visit.query.with("cursor")
        return [
            "words": JSONValue(visit.query.text("device")), "total": JSONValue(total),
            "isCut": .boolean(total > devices.count), "hasDevices": .boolean(!devices.isEmpty),
            "devices": .array(
                devices.map { device in
                    [
                        "name": .text(Self.name(of: device)), "id": .text(device.id), "test": .boolean(device.test),
                        "organization": .text(device.organization),
                        "address": .text(visit.base + kept.with("device", device.id).address(visit.path)),
                    ]
                }),
        ]
    }

    /// The id of a device without a name.
    static func name(of device: DeviceView) -> String { device.name.isEmpty ? device.id : device.name }
}
