/// `os-release(5)`: which distribution this is.
struct OSRelease: Equatable {
    /// In the order the specification gives.
    static let paths = ["/etc/os-release", "/usr/lib/os-release"]

    var identifier: String?
    var version: String?

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.take("ID=") {
                identifier = Self.value(scanner.rest())
            } else if scanner.take("VERSION_ID=") {
                version = Self.value(scanner.rest())
            }
        }
    }

    /// Shell quoting, as far as identifiers and versions use it.
    private static func value(_ raw: UnsafeRawBufferPointer) -> String? {
        var value = raw.trimmed
        if value.count >= 2, let quote = value.first, quote == 0x22 || quote == 0x27, value.last == quote {
            value = UnsafeRawBufferPointer(rebasing: value[1..<(value.count - 1)])
        }
        return value.isEmpty ? nil : value.text
    }
}
