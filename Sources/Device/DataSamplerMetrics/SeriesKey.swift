/// What tells one series of measurements from another, within the bounds of a measurement.
struct SeriesKey: Hashable {
    enum Kind: Hashable {
        case counter
        case floatingPointCounter
        case meter
        case gauge
        case recorder
        case timer
    }

    static let maximumAttributes = 16
    private static let nameBytes = 128
    /// Room for the longest suffix, `.delta` or `.count`.
    private static let suffixBytes = 8
    private static let attributeNameBytes = 64
    private static let attributeValueBytes = 256
    /// By a label's last word.
    private static let units = [
        "bytes": "By", "seconds": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns", "ratio": "1", "percent": "%",
    ]

    let kind: Kind
    let name: String
    let unit: String
    let attributes: [String: String]

    /// - Parameter unit: where the label does not say one.
    /// - Returns: `nil` where there are more dimensions than a measurement may have attributes, or the label is empty.
    init?(_ kind: Kind, label: String, dimensions: [(String, String)], unit: String) {
        let printable = label.utf8.prefix(Self.nameBytes - Self.suffixBytes).map { (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "_") }
        guard !printable.isEmpty else { return nil }
        self.kind = kind
        name = String(decoding: printable, as: UTF8.self)
        let words = name.split { $0 == "_" || $0 == "." || $0 == "-" }
        let last = words.last == "total" ? words.dropLast().last : words.last
        self.unit = kind == .timer ? unit : last.flatMap { Self.units[String($0)] } ?? unit
        var attributes: [String: String] = [:]
        for (name, value) in dimensions where !name.isEmpty {
            attributes[Self.cut(name, Self.attributeNameBytes)] = Self.cut(value, Self.attributeValueBytes)
        }
        guard attributes.count <= Self.maximumAttributes else { return nil }
        self.attributes = attributes
    }

    /// At most so many bytes, in whole characters.
    private static func cut(_ text: String, _ bytes: Int) -> String {
        guard text.utf8.count > bytes else { return text }
        var cut = ""
        var count = 0
        for character in text {
            count += character.utf8.count
            guard count <= bytes else { break }
            cut.append(character)
        }
        return cut
    }
}
