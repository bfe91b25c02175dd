import Foundation
import WireModel

/// The outer form of every cursor: URL-safe Base64 without padding (RFC 4648, section 5).
enum CursorText {
    static func of(_ plain: String) -> String { of(Data(plain.utf8)) }

    static func of(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }

    /// `nil` for a text that is too long for a cursor of its kind, or is no Base64.
    static func data(_ text: String, maximumBytes: Int) -> Data? {
        guard text.utf8.count <= maximumBytes else { return nil }
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        return Data(base64Encoded: base64)
    }
}

/// The start of the next page: a device or the whole fleet, and a position in a stream. Opaque to clients. It contains
/// no secret and grants nothing.
struct PageCursor: Equatable {
    /// `nil` for a list over the fleet.
    var device: DeviceID?
    /// The store's own position; `nil` starts at the newest record.
    var before: String?

    private static let fleet = "fleet"

    var text: String { CursorText.of("\(device?.description ?? Self.fleet)|\(before ?? "")") }
}

extension PageCursor {
    init?(_ text: String) {
        guard let data = CursorText.data(text, maximumBytes: 512), let plain = String(data: data, encoding: .utf8)
        else { return nil }
        let parts = plain.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0] != Self.fleet {
            guard let device = DeviceID(String(parts[0])) else { return nil }
            self.device = device
        }
        before = parts[1].isEmpty ? nil : String(parts[1])
    }
}

/// The cursor of a list that is ordered by one number. Opaque to clients.
enum NumberCursor {
    static func text(_ number: Int64) -> String { CursorText.of("n\(number)") }

    /// `nil` if the text is no such cursor.
    static func number(_ text: String) -> Int64? {
        guard let data = CursorText.data(text, maximumBytes: 64), data.first == UInt8(ascii: "n"),
            let number = Int64(String(decoding: data.dropFirst(), as: UTF8.self)), number >= 0
        else { return nil }
        return number
    }
}

extension QueryParameters {
    func numberCursor() throws -> Int64? {
        guard let text = text("cursor") else { return nil }
        guard let number = NumberCursor.number(text) else {
            throw Problem.invalidParameter("cursor", "is not one that this collector gave.")
        }
        return number
    }
}
