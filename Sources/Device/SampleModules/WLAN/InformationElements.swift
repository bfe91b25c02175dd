/// The elements of a beacon or probe response, in which an access point describes itself (IEEE 802.11, 9.4.2).
struct InformationElements {
    private static let ssidElement: UInt8 = 0
    private static let securityElement: UInt8 = 48
    private static let vendorElement: UInt8 = 221

    private enum Key: Hashable {
        case personal
        case enterprise
        /// Simultaneous authentication of equals: WPA3.
        case equals
        case suiteB
        case opportunistic
    }

    private(set) var ssid: [UInt8]?
    /// The list ended after a complete element.
    private var isWhole = false
    /// The keys that the RSN element offers; `nil` without that element.
    private var offered: Set<Key>?
    /// The keys that the older WPA element offers.
    private var offeredByWPA: Set<Key>?

    init(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while bytes.count - position >= 2 {
            let length = Int(bytes[position + 1])
            guard length <= bytes.count - position - 2 else { return }
            let body = UnsafeRawBufferPointer(rebasing: bytes[(position + 2)..<(position + 2 + length)])
            switch bytes[position] {
            case Self.ssidElement: ssid = (1...32).contains(length) ? Array(body) : nil
            case Self.securityElement: offered = Self.keys(body, organization: [0x00, 0x0f, 0xac])
            case Self.vendorElement where body.starts(with: [0x00, 0x50, 0xf2, 0x01]):
                offeredByWPA = Self.keys(
                    UnsafeRawBufferPointer(rebasing: body[4...]), organization: [0x00, 0x50, 0xf2])
            default: break
            }
            position += 2 + length
        }
        isWhole = position == bytes.count
    }

    /// Version, group cipher, pairwise ciphers, then the suites of authentication and key management.
    private static func keys(_ body: UnsafeRawBufferPointer, organization: [UInt8]) -> Set<Key> {
        guard let ciphers: UInt16 = body.number(at: 6) else { return [] }
        let start = 8 + Int(UInt16(littleEndian: ciphers)) * 4
        guard let count: UInt16 = body.number(at: start) else { return [] }
        var keys: Set<Key> = []
        for index in 0..<Int(UInt16(littleEndian: count)) {
            let place = start + 2 + index * 4
            guard place + 4 <= body.count else { break }
            guard body[place..<(place + 3)].elementsEqual(organization) else { continue }
            switch body[place + 3] {
            case 1, 3, 5, 14, 15, 16, 17, 22, 23: keys.insert(.enterprise)
            case 2, 4, 6, 19, 20: keys.insert(.personal)
            case 8, 9, 24, 25: keys.insert(.equals)
            case 11, 12, 13: keys.insert(.suiteB)
            case 18: keys.insert(.opportunistic)
            default: break
            }
        }
        return keys
    }

    /// The network's protection, judged by what it offers; `nil` if unknown, or if the list is cut off.
    ///
    /// - Parameter hasPrivacy: the capability bit; without it frames are not encrypted.
    func security(hasPrivacy: Bool) -> String? {
        guard isWhole else { return nil }
        guard offered != nil || offeredByWPA != nil else { return hasPrivacy ? "wep" : "open" }
        let keys = offered ?? []
        if keys.contains(.suiteB) { return "wpa3-enterprise-192" }
        if keys.contains(.opportunistic) { return "owe" }
        if keys.contains(.equals) { return keys.contains(.personal) ? "wpa2/wpa3-personal" : "wpa3-personal" }
        let kinds: [(Key, String)] = [(.enterprise, "enterprise"), (.personal, "personal")]
        for (key, name) in kinds {
            let older = offeredByWPA?.contains(key) == true
            if keys.contains(key) { return older ? "wpa/wpa2-\(name)" : "wpa2-\(name)" }
            if older { return "wpa-\(name)" }
        }
        return nil
    }
}
