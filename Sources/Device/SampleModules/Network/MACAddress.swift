/// Hardware addresses as people write them.
enum MACAddress {
    private static let digits = Array("0123456789abcdef".utf8)

    /// `02:42:ac:11:00:02`
    static func text(_ address: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(address.count * 3)
        for (index, byte) in address.enumerated() {
            if index > 0 { text.append(0x3a) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
