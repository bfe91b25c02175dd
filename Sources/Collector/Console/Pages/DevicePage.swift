import JSON

/// One device.
struct DevicePage: Page {
    let path = "/devices/{device}"

    func view(_ visit: Visit) async throws -> Answer {
        let api = "/api/v1/devices/\(visit.segment("device"))"
        let device = try await visit.api.get(api)
        let balance = try await visit.api.get("\(api)/balance")
        let commands = try await visit.api.get("\(api)/commands", [("limit", "20")])
        let name = device["name"].text.flatMap { $0.isEmpty ? nil : $0 } ?? visit.parameter("device")
        return .view(
            View(
                "device", title: name,
                ["device": device, "balance": balance, "deviceCommands": commands["items"]]))
    }
}
