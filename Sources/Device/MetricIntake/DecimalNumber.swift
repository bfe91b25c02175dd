/// Numbers as programs of all languages print them.
enum DecimalNumber {
    /// A longer text is no number here.
    static let maximumBytes = 40

    /// A finite decimal number; `nil` for every other text, such as `nan`, `0x1` and `1e999`.
    static func parse(_ text: some Collection<UInt8>) -> Double? {
        guard (1...maximumBytes).contains(text.count),
            text.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "e"), UInt8(ascii: "E"):
                    true
                default: false
                }
            }), let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite
        else { return nil }
        return number
    }
}
