import JSON
import TelemetryBasics

/// The devices that an address names with `device`, which may repeat, and the search that adds to them.
struct ChosenDevices {
    /// The API accepts no more at once.
    static let maximum = 50

    /// The devices in the order of the address; those that the visitor does not see are left out.
    let devices: [JSONValue]

    init(_ visit: Visit) async throws {
        var devices: [JSONValue] = []
        for id in Self.ids(visit.query) {
            if let device = try await visit.api.find("/api/v1/devices/\(id.percentEncoded)") { devices.append(device) }
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
    /// - Throws: `APIProblem` if no device matches, or too many.
    static func search(_ visit: Visit) async throws -> Answer? {
        guard let text = visit.query.text("find") else { return nil }
        let query: FormFields = [("q", text), ("test", "true"), ("limit", "\(maximum)")]
        let page = try await visit.api.get("/api/v1/devices", query)
        let total = page["total"].integer ?? 0
        guard total > 0 else { throw problem("No device matches “\(text)”.") }
        var kept = FormFields(visit.query.fields.filter { $0.name != "device" }.map { ($0.name, $0.value) })
            .with("find").with("cursor")
        let before = ids(visit.query)
        let ids = before + page.pageItems.compactMap { $0["id"].text }.filter { !before.contains($0) }
        guard total <= maximum, ids.count <= maximum else {
            throw problem(
                "\(DisplayText.devices(.integer(total))) found with “\(text)”, and a page takes \(maximum) at most.")
        }
        for id in ids { kept.add("device", id) }
        // Who searches for a test device wants to see it.
        if page.pageItems.contains(where: { $0["test"].isTrue }) { kept = kept.with("test", "true") }
        return .redirect(kept.address(visit.path))
    }

    private static func problem(_ detail: String) -> APIProblem {
        APIProblem(
            status: 422, code: "invalid-field", title: "Devices not found",
            detail: "\(detail) Go back and search with other words, or with an id.")
    }

    /// The values for templates: each device with its name, its next beacon, and the address of this page without it.
    func values(at visit: Visit) -> JSONValue {
        let names = Self.distinguished(
            Dictionary(devices.map { ($0["id"].text ?? "", Self.name(of: $0)) }) { first, _ in first })
        return .array(
            devices.map { device in
                let others = visit.query.fields.filter { $0.name != "device" || $0.value != device["id"].text }
                let rest = FormFields(others.map { ($0.name, $0.value) }).with("cursor")
                return device.with([
                    "shownName": JSONValue(names[device["id"].text ?? ""]),
                    "nextBeaconAt": JSONValue(DeviceSubject.nextBeacon(of: device)),
                    "isLate": .boolean(["late", "silent"].contains(device["state"].text)),
                    "isGone": .boolean(["left", "revoked"].contains(device["state"].text)),
                    "without": .text(visit.base + rest.address(visit.path)),
                ])
            })
    }

    /// The names of devices by their ids. Reads at most `maximum` devices that are neither chosen nor known. Devices of
    /// one name are distinguished by the beginning of their ids.
    /// - Parameter known: names that the page has read already.
    func names(
        of ids: [String], known: [String: String] = [:], _ visit: Visit
    ) async throws -> [String: String] {
        // A device without a name is called by its id, which is asked for below.
        var names = known.filter { !$0.value.isEmpty }
        for device in devices { names[device["id"].text ?? ""] = Self.name(of: device) }
        for id in Set(ids).subtracting(names.keys).sorted().prefix(Self.maximum) {
            let device = try await visit.api.find("/api/v1/devices/\(id.percentEncoded)")
            names[id] = device.map { Self.name(of: $0) }
        }
        return Self.distinguished(names)
    }

    private static func distinguished(_ names: [String: String]) -> [String: String] {
        let uses = Dictionary(names.values.map { ($0, 1) }, uniquingKeysWith: +)
        return Dictionary(
            uniqueKeysWithValues: names.map { id, name in
                (id, uses[name, default: 1] > 1 ? "\(name) (\(id.prefix(8)))" : name)
            })
    }

    /// The id of a device without a name.
    static func name(of device: JSONValue) -> String {
        device["name"].text.flatMap { $0.isEmpty ? nil : $0 } ?? device["id"].text ?? ""
    }
}
