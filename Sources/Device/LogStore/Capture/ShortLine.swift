import Glibc
import WireModel

/// Builds the body of a line with fields on the stack, without allocating. It serves lines in which nothing must be
/// escaped, cut or scrubbed, which is nearly all lines. `LineFields` serves the others.
enum ShortLine {
    /// The most bytes of a body. `LineFields` builds longer ones.
    static let maximumBytes = 1024
    /// `LineFields` builds lines with more fields, because fields are sorted by insertion here.
    static let maximumFields = 16

    /// Builds the same body as `LineFields.body` and passes it to `take`, once.
    /// - Returns: `false` if `LineFields` must build the line; `take` was not called then.
    static func build(
        category: String, message: String, fields: [String: String], _ receive: (UnsafeBufferPointer<UInt8>) -> Void
    ) -> Bool {
        guard fields.count <= maximumFields else { return false }
        var wanted = category.utf8.count + 1 + message.utf8.count
        for (key, value) in fields { wanted += key.utf8.count + value.utf8.count + 2 }
        guard wanted <= maximumBytes, category.utf8.count <= LogLimits.categoryBytes else { return false }
        return withUnsafeTemporaryAllocation(of: Field.self, capacity: maximumFields) { sorted in
            var count = 0
            defer { sorted.baseAddress!.deinitialize(count: count) }
            for (key, value) in fields {
                var place = count
                while place > 0, precedes(key, sorted[place - 1].key) { place -= 1 }
                (sorted.baseAddress! + place + 1).moveInitialize(
                    from: sorted.baseAddress! + place, count: count - place)
                (sorted.baseAddress! + place).initialize(to: Field(key: key, value: value))
                count += 1
            }
            return withUnsafeTemporaryAllocation(byteCount: wanted, alignment: 1) { memory in
                var body = Body(memory: memory)
                guard body.add(category, .category) else { return false }
                body.add(UInt8(ascii: " "))
                guard body.add(message, .message) else { return false }
                for place in 0..<count {
                    body.add(place == 0 ? UInt8(ascii: "\t") : UInt8(ascii: " "))
                    guard body.add(sorted[place].key, .field) else { return false }
                    body.add(UInt8(ascii: "="))
                    guard body.add(sorted[place].value, .field) else { return false }
                }
                receive(UnsafeBufferPointer(rebasing: memory.bindMemory(to: UInt8.self)[..<body.count]))
                return true
            }
        }
    }

    private struct Field {
        let key: String
        let value: String
    }

    private struct Body {
        let memory: UnsafeMutableRawBufferPointer
        private(set) var count = 0

        init(memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

        @inline(__always)
        mutating func add(_ byte: UInt8) {
            memory[count] = byte
            count += 1
        }

        /// - Returns: `false` if the text must be escaped or does not fit.
        @inline(__always)
        mutating func add(_ text: String, _ escape: Escape) -> Bool {
            let place = count
            let length = text.utf8.withContiguousStorageIfAvailable { bytes -> Int? in
                guard escape.plainEnd(bytes) == bytes.count else { return nil }
                if let base = bytes.baseAddress { memcpy(memory.baseAddress! + place, base, bytes.count) }
                return bytes.count
            }
            guard case .some(.some(let length)) = length else { return false }
            count += length
            return true
        }
    }

    /// Compares keys by their bytes.
    private static func precedes(_ left: String, _ right: String) -> Bool {
        let isBefore = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                let common = min(left.count, right.count)
                let order = common == 0 ? 0 : memcmp(left.baseAddress!, right.baseAddress!, common)
                return order < 0 || order == 0 && left.count < right.count
            }
        }
        guard case .some(.some(let isBefore)) = isBefore else { return left.utf8.lexicographicallyPrecedes(right.utf8) }
        return isBefore
    }
}
