import CollectorAPI
import Foundation
import JSON

/// The machine of a device: what its newest samples say of disks, network and itself.
struct DeviceSystemPage: ConsolePage {
    let path = "/devices/{device}/system"

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let (system, network, wlan) = (
            try await newest("system", subject), try await newest("networkAdapter", subject),
            try await newest("wlan2", subject)
        )
        let sample = system?.sample ?? .null
        let beacon = subject.device.beacon ?? .null
        return subject.answer(
            "device-system",
            [
                "system": .of(system), "network": .of(network), "wlan": .of(wlan),
                "fileSystems": sample["fileSystems"].table,
                "temperatures": JSONValue.array(sample["temperatures"].items.map(Self.inCelsius)).table,
                "adapters": (network?.sample)["adapters"].table,
                "interfaces": JSONValue.array((wlan?.sample)["interfaces"].items.map(Self.named)).table,
                "person": Self.facts(
                    [
                        ("Name", "userFullName"), ("Display name", "userDisplayName"), ("E-mail", "userEmail"),
                    ], of: beacon),
                "power": Self.power(beacon["power"] == .null ? sample["power"] : beacon["power"]),
                "cost": Self.cost(beacon["self"]),
                "encryption": JSONValue(Self.encryption(beacon["encryption"])),
            ])
    }

    /// How many pages of records without one of the module are passed over.
    private static let pages = 5

    /// The newest sample of a module; `nil` if there is none among the device's newest records.
    private func newest(_ module: String, _ subject: DeviceSubject) async throws -> RecordView? {
        var query = subject.records([("module", module), ("limit", "1")])
        for _ in 0..<Self.pages {
            let page = try await subject.visit.api.call(.listSamples(subject.id), query)
            if let sample = page.items.first { return sample }
            guard let next = page.next else { break }
            query = query.with("cursor", next)
        }
        return nil
    }

    /// The name of a Wi-Fi network is bytes, and text by custom.
    private static func named(_ interface: JSONValue) -> JSONValue {
        guard let bytes = interface["ssid"].text.flatMap({ Data(base64Encoded: $0) }) else { return interface }
        return interface.with(["ssid": .text(String(decoding: bytes, as: UTF8.self))])
    }

    private static func inCelsius(_ temperature: JSONValue) -> JSONValue {
        temperature.with(["celsius": .real((temperature["millidegrees"].number ?? 0) / 1000)])
    }

    private static func power(_ power: JSONValue) -> JSONValue {
        guard power != .null else { return .null }
        func share(_ name: String) -> JSONValue { power[name].number.map { .real($0 / 10_000) } ?? .null }
        return power.with([
            "batteryShare": share("batteryLevel"), "healthShare": share("health"),
            "hasPower": JSONValue(power["externalPower"].truth.map { $0 ? "yes" : "no" }),
        ])
    }

    /// `nil` for a device that does not say.
    private static func encryption(_ encryption: JSONValue) -> String? {
        guard encryption != .null else { return nil }
        guard let provider = encryption["provider"].text, !provider.isEmpty else { return "none" }
        return "on, the device key is of \(provider)" + (encryption["locked"].isTrue ? "; locked" : "")
    }

    private static func cost(_ cost: JSONValue) -> JSONValue {
        guard let time = cost["cpuTimeMicroseconds"].number else { return cost }
        return cost.with(["cpuSeconds": .real(time / 1_000_000)])
    }

    private static func facts(_ names: [(label: String, name: String)], of object: JSONValue) -> JSONValue {
        .array(
            names.compactMap { label, name in
                object[name].text.map { ["label": .text(label), "value": .text($0)] }
            })
    }
}
