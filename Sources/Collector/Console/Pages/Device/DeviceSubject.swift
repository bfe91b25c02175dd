import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// The parts that the pages of one device share: the device, its head with name and state, and the tabs.
struct DeviceSubject {
    let visit: Visit
    let device: DeviceView

    static let tabs: [(path: String, label: String)] = [
        ("", "Overview"), ("/timeline", "Timeline"), ("/system", "System"), ("/balance", "Balance"),
        ("/commands", "Commands"), ("/manage", "Manage"),
    ]

    /// - Throws: `Problem`, 404 where the visitor's organization has no such device.
    init(_ visit: Visit) async throws {
        self.visit = visit
        device = try await visit.api.call(.getDevice(visit.parameter("device")))
    }

    var id: String { device.id }

    /// Whether it has an agent, which takes commands and applies a profile. A resource of OTLP has none.
    var hasAgent: Bool { device.kind != "otlp" }

    var name: String { DeviceChoice.name(of: device) }

    /// Whether a person typed the name, as pages show it.
    func isNamed(_ typed: String?) -> Bool {
        func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }
        return typed.map { words($0) == words(DisplayText.visible(name)) } ?? false
    }

    /// The address of a page of the device, without the proxy's prefix.
    func address(_ tab: String = "") -> String { "/devices/\(id.percentEncoded)\(tab)" }

    /// A query that also gives the records of a test device.
    func records(_ query: FormFields = FormFields()) -> FormFields {
        device.test ? query.with("test", "true") : query
    }

    func answer(_ template: String, _ values: [String: JSONValue]) -> Answer { .view(view(template, values)) }

    func view(_ template: String, _ values: [String: JSONValue]) -> View {
        let here = visit.path.dropFirst("/devices/".count).drop { $0 != "/" }
        let tab = Self.tabs.first { $0.path == here }
        let common: [String: JSONValue] = [
            "device": .of(device), "deviceName": .text(name), "deviceID": .text(id),
            "hasAgent": .boolean(hasAgent),
            "deviceAddress": .text(visit.base + address()), "nextBeaconAt": JSONValue(nextBeaconAt),
            "tabs": .array(
                Self.tabs.filter { hasAgent || $0.path != "/commands" }.map { tab in
                    [
                        "label": .text(tab.label), "address": .text(visit.base + address(tab.path)),
                        "isHere": .boolean(tab.path == here),
                    ]
                }),
        ]
        let title = tab.map { $0.path.isEmpty ? name : "\($0.label) of \(name)" } ?? name
        return View(template, title: title, common.merging(values) { $1 })
    }

    var nextBeaconAt: String? { Self.nextBeacon(of: device) }

    /// When the next beacon of a device is due; `nil` if none is expected.
    static func nextBeacon(of device: DeviceView) -> String? {
        guard !["left", "revoked"].contains(device.state), let seconds = device.expectedBeaconSeconds,
            let last = Timestamp.parse(device.lastBeaconAt ?? device.enrolledAt)
        else { return nil }
        return Timestamp.text(last + Int64(seconds) * 1_000_000)
    }
}
