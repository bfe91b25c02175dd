import Foundation
import WireModel

/// Where the next page begins: a device, or the whole fleet, and a position in a stream. Opaque to clients; it holds no secret and grants nothing.
struct PageCursor: Equatable {
    /// `nil`: a list over the fleet.
    var device: DeviceID?
    /// The store's own position; `nil` for the newest record.
    var before: String?

    private static let fleet = "fleet"

    init(device: DeviceID?, before: String?) {
        self.device = device
        self.before = before
    }

    init?(_ text: String) {
        guard text.utf8.count <= 512 else { return nil }
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        guard let data = Data(base64Encoded: base64), let plain = String(data: data, encoding: .utf8) else { return nil }
        let parts = plain.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0] != Self.fleet {
            guard let device = DeviceID(String(parts[0])) else { return nil }
            self.device = device
        }
        before = parts[1].isEmpty ? nil : String(parts[1])
    }

    var text: String {
        Data("\(device?.description ?? Self.fleet)|\(before ?? "")".utf8).base64EncodedString().replacing("+", with: "-").replacing(
            "/", with: "_"
        ).replacing(
            "=", with: "")
    }
}
