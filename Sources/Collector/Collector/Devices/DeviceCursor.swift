import CollectorStore
import Foundation
import WireModel

/// Where the next page of a list of devices begins, and of which order it is. Opaque to clients; it holds no secret and grants nothing.
struct DeviceCursor: Equatable {
    var sort: DeviceQuery.Sort
    var isDescending: Bool
    var position: DevicePosition

    init(_ position: DevicePosition, of query: DeviceQuery) {
        (sort, isDescending, self.position) = (query.sort, query.isDescending, position)
    }

    /// `nil` where it is none.
    init?(_ text: String) {
        guard text.utf8.count <= 1024 else { return nil }
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        guard let data = Data(base64Encoded: base64), let plain = String(data: data, encoding: .utf8) else { return nil }
        // The key is the last: a name may hold anything.
        let parts = plain.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let sort = DeviceQuery.Sort(rawValue: parts[0]), let id = DeviceID(parts[2]),
            parts[1] == "a" || parts[1] == "d"
        else { return nil }
        (self.sort, isDescending) = (sort, parts[1] == "d")
        switch sort {
        case .id: position = DevicePosition(key: .none, id: id)
        case .name: position = DevicePosition(key: .text(parts[3]), id: id)
        case .lastSeen, .enrolled, .state:
            guard let number = Int64(parts[3]) else { return nil }
            position = DevicePosition(key: .number(number), id: id)
        }
    }

    var text: String {
        let key =
            switch position.key {
            case .none: ""
            case .text(let text): text
            case .number(let number): "\(number)"
            }
        return Data("\(sort.rawValue)|\(isDescending ? "d" : "a")|\(position.id)|\(key)".utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
