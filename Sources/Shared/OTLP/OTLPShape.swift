/// A message as the passes before decoding see it: its fields by number and by name, and what they hold.
struct OTLPShape: Sendable {
    enum Content: Equatable, Sendable {
        /// One value that needs no care.
        case plain
        /// Several texts, or several numbers of a fixed width.
        case list
        /// Several numbers of a variable width. They can be eight times as large in memory.
        case varints
        /// A number that JSON of other protocols may also name.
        case enumeration
        /// Bytes that OTLP's JSON has as hex.
        case identifier
        /// A message, or several: its place in ``OTLPShape/all``.
        case message(Int)
    }

    struct Field: Sendable {
        let number: Int
        /// The name in JSON.
        let name: String
        let content: Content

        init(_ number: Int, _ name: String, _ content: Content) {
            self.number = number
            self.name = name
            self.content = content
        }
    }

    /// The message's name in the schema.
    let name: String
    private let contents: [Content?]
    private let names: [UInt64: Content]

    init(_ name: String, _ fields: [Field]) {
        self.name = name
        var contents = [Content?](repeating: nil, count: (fields.map(\.number).max() ?? 0) + 1)
        for field in fields { contents[field.number] = field.content }
        self.contents = contents
        names = Dictionary(
            uniqueKeysWithValues: fields.map { field in
                (field.name.utf8.reduce(into: NameHash()) { $0.add($1) }.value, field.content)
            })
    }

    /// What the field holds; `nil` for a field that the schema does not have.
    func content(number: UInt64) -> Content? {
        number < UInt64(contents.count) ? contents[Int(number)] : nil
    }

    /// What the field with this name in JSON holds; `nil` for a field that the schema does not have.
    func content(name: NameHash) -> Content? { names[name.value] }
}

/// FNV-1a. A name that collides with a field's on purpose only makes a pass before decoding more lenient with it.
struct NameHash {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
}
