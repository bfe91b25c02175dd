import Glibc

/// The part of a response's head that the load generator needs, found on its bytes: it must not cost the cores that the
/// server is measured on.
struct HTTPResponseHead {
    let status: Int
    /// 0 where none is given.
    private(set) var contentLength = 0
    private(set) var isChunked = false
    /// The size with the empty line behind it.
    let byteCount: Int

    /// `nil` until the head is whole. A status of 0 is no HTTP.
    init?(parsing bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, let end = Self.end(of: bytes) else { return nil }
        byteCount = end
        status = bytes.count >= 12 ? Self.number(bytes[9..<12]) : 0
        if let value = Self.value("content-length:", in: bytes, byteCount) {
            contentLength = Self.number(bytes[value...])
        }
        if let value = Self.value("transfer-encoding:", in: bytes, byteCount) {
            isChunked = strncasecmp(start.assumingMemoryBound(to: CChar.self) + value, "chunked", 7) == 0
        }
    }

    /// Behind the first empty line.
    private static func end(of bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 3
        while position < bytes.count {
            if bytes[position] == 10, bytes[position - 1] == 13, bytes[position - 2] == 10, bytes[position - 3] == 13 {
                return position + 1
            }
            position += 1
        }
        return nil
    }

    /// Where a field's value begins; `name` in lower case, with its colon.
    private static func value(_ name: String, in bytes: UnsafeRawBufferPointer, _ end: Int) -> Int? {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return nil }
        let length = name.utf8.count
        var line = 0
        while let next = memchr(start + line, 10, end - line) {
            line = UnsafeRawPointer(start).distance(to: UnsafeRawPointer(next)) + 1
            guard line + length < end else { return nil }
            if strncasecmp(start + line, name, length) == 0 {
                var value = line + length
                while bytes[value] == 32 { value += 1 }
                return value
            }
        }
        return nil
    }

    /// The number of the digits at the start.
    private static func number(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        var number = 0
        for byte in bytes {
            guard (48...57).contains(byte), number < 1 << 50 else { break }
            number = number * 10 + Int(byte - 48)
        }
        return number
    }
}
