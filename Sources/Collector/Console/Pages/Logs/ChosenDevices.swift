import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// The devices that an address names with `device`, which may repeat, and the search that adds to them.
struct ChosenDevices {
    /// The API accepts no more at once.
    static let maximum = 50

    /// The devices in the order of the address; those that the visitor does not see are left out.
    let devices: [DeviceView]

    init(_ visit: Visit) async throws {
        var devices: [DeviceView] = []
        for id in Self.ids(visit.query) {
            if let device = try await visit.api.find(.getDevice(id)) { devices.append(device) }
        }
        self.devices = devices
    }

    static func ids(_ query: FormFields) -> [String] {
        var ids: [String] = []
        for id in query.all("device") where !id.isEmpty && !ids.contains(id) && ids.count < maximum { ids.append(id) }
        return ids
    }

    /// Answers the field `find`: the address with all devices that match it.
    /// - Returns: `nil` if nothing is searched for.
    /// - Throws: `Problem` if no device matches, or too many.
    static func search(_ visit: Visit) async throws -> Answer? {
        guard let text = visit.query.text("find") else { return nil }
        let query: FormFields = [("q", text), ("test", "true"), ("limit", "\(maximum)")]
        let page = try await visit.api.call(.listDevices, query)
        let total = page.total ?? 0
        guard total > 0 else { throw problem("No device matches “\(text)”.") }
        var kept = FormFields(visit.query.fields.filter { $0.name != "device" }.map { ($0.name, $0.value) })
            .with("find").with("cursor")
        let before = ids(visit.query)
        let ids = before + page.items.map(\.id).filter { !before.contains($0) }
        guard total <= maximum, ids.count <= maximum else {
            throw problem(
                "\(DisplayText.devices(JSONValue(total))) found with “\(text)”, and a page takes \(maximum) at most.")
        }
        for id in ids { kept.add("device", id) }
        // Who searches for a test device wants to see it.
        if page.items.contains(where: \.test) { kept = kept.with("test", "true") }
        return .redirect(kept.address(visit.path))
    }

    private static func problem(_ detail: String) -> Problem {
        Problem(
            status: 422, code: .invalidField, title: "Devices not found",
            detail: "\(detail) Go back and search with other words, or with an id.")
    }

    /// The values for templates: each device with its name, its next beacon, and the address of this page without it.
    func values(at visit: Visit) -> JSONValue {
        let names = self.names([])
        return .array(
            devices.map { device in
                let others = visit.query.fields.filter { $0.name != "device" || $0.value != device.id }
                let rest = FormFields(others.map { ($0.name, $0.value) }).with("cursor")
                return JSONValue.of(device).with([
                    "shownName": JSONValue(names[device.id]),
                    "nextBeaconAt": JSONValue(DeviceSubject.nextBeacon(of: device)),
                    "isLate": .boolean(["late", "silent"].contains(device.state)),
                    "isGone": .boolean(["left", "revoked"].contains(device.state)),
                    "without": .text(visit.base + rest.address(visit.path)),
                ])
            })
    }

    /// The names of the chosen devices, and of those that a page has read, by their ids. A device without a name is
    /// called by its id. Devices of one name are distinguished by the beginning of their ids.
    /// - Parameter read: ids with their names.
    func names(_ read: [(String, String?)]) -> [String: String] {
        var names: [String: String] = [:]
        for (id, name) in read { names[id] = name.flatMap { $0.isEmpty ? nil : $0 } ?? names[id] ?? id }
        for device in devices { names[device.id] = Self.name(of: device) }
        let uses = Dictionary(names.values.map { ($0, 1) }, uniquingKeysWith: +)
        return Dictionary(
            uniqueKeysWithValues: names.map { id, name in
                (id, uses[name, default: 1] > 1 ? "\(name) (\(id.prefix(8)))" : name)
            })
    }

    /// The id of a device without a name.
    static func name(of device: DeviceView) -> String { device.name.isEmpty ? device.id : device.name }
}
