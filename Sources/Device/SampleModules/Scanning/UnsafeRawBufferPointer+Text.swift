extension UnsafeRawBufferPointer {
    /// The bytes as text; what is not UTF-8 becomes the replacement character, as protobuf strings must be valid.
    var text: String { String(decoding: self, as: UTF8.self) }

    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != text.utf8Start[index] { return false }
        return true
    }

    /// Without blanks, line ends and NULs at both ends.
    var trimmed: UnsafeRawBufferPointer {
        var start = 0
        var end = count
        while start < end, self[start] <= 0x20 { start += 1 }
        while end > start, self[end - 1] <= 0x20 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }
}
