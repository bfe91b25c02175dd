import WireModel

/// A line from its category on, as it will be on disk, while it is put together: escaped, and cut where it grows too long.
struct LineBody {
    /// Of a body. What comes before it in a line is counted at its longest, so that the cut does not hang on the number, which comes later.
    static let maximumBytes = LogLimits.lineBytes - (LogLine.numberOffset + numberDigits + 2)
    /// Of a number, at most.
    private static let numberDigits = 19
    /// Room for `…[+N]`.
    private static let markBytes = 25

    private(set) var bytes: [UInt8] = []
    private let limit: Int
    /// What the body would have without a cut.
    private var total = 0
    /// The last place between characters that leaves room for the mark, once there is more behind it.
    private var cut: Int?

    init(reserve: Int = 256, limit: Int = maximumBytes) {
        self.limit = limit
        bytes.reserveCapacity(reserve)
    }

    /// `-` for none. What may not stand in a category becomes `_`.
    mutating func addCategory(_ category: UnsafeBufferPointer<UInt8>) {
        if category.isEmpty { return addPlain(CollectionOfOne(UInt8(ascii: "-"))) }
        var length = min(category.count, LogLimits.categoryBytes)
        while length < category.count, length > 0, category[length] & 0xC0 == 0x80 { length -= 1 }
        addPlain(category[..<length].lazy.map { Escape.category.isPlain($0) ? $0 : UInt8(ascii: "_") })
    }

    mutating func addMessage(_ text: UnsafeBufferPointer<UInt8>) {
        addPlain(CollectionOfOne(UInt8(ascii: " ")))
        add(text, .message)
    }

    mutating func addField(_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, isFirst: Bool) {
        addPlain(CollectionOfOne(isFirst ? UInt8(ascii: "\t") : UInt8(ascii: " ")))
        add(key, .field)
        addPlain(CollectionOfOne(UInt8(ascii: "=")))
        add(value, .field)
    }

    /// Cuts it if it is too long. Nothing may be added afterwards.
    /// - Parameter bytes: that were never added.
    mutating func finish(leavingOut bytes: Int = 0) {
        if bytes > 0, cut == nil { cut = total }
        total += bytes
        guard total > limit || bytes > 0, let cut else { return }
        self.bytes.removeLast(self.bytes.count - cut)
        self.bytes.append(contentsOf: "…[+\(total - cut)]".utf8)
    }

    private mutating func add(_ text: UnsafeBufferPointer<UInt8>, _ escape: Escape) {
        var position = 0
        while position < text.count {
            let end = escape.plainEnd(text, from: position)
            if end > position { addRun(UnsafeBufferPointer(rebasing: text[position..<end])) }
            position = end
            while position < text.count, !escape.isPlain(text[position]) {
                addPlain(Escape.sequence(text[position]))
                position += 1
            }
        }
    }

    /// A run that can be cut between characters.
    private mutating func addRun(_ run: UnsafeBufferPointer<UInt8>) {
        let room = limit - Self.markBytes - total
        if cut == nil, run.count > room {
            var length = max(0, room)
            while length > 0, run[length] & 0xC0 == 0x80 { length -= 1 }
            cut = total + length
        }
        bytes.append(contentsOf: run.prefix(max(0, limit - total)))
        total += run.count
    }

    /// A few bytes that stay together.
    private mutating func addPlain(_ run: some Collection<UInt8>) {
        if cut == nil, total + run.count > limit - Self.markBytes { cut = total }
        if total + run.count <= limit { bytes.append(contentsOf: run) }
        total += run.count
    }
}
