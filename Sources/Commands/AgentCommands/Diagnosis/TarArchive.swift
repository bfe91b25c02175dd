/// Files in one archive, in the form of POSIX.1-1988 (`ustar`), which every tar reads. Files of mode 0600, owned by
/// nobody in particular.
struct TarArchive {
    private static let blockBytes = 512

    private var bytes: [UInt8] = []

    /// - Parameters:
    ///   - name: ASCII, at most 100 characters.
    ///   - seconds: when the file was written, since 1970.
    mutating func add(_ name: String, _ content: [UInt8], seconds: Int64) {
        var header = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<(offset + text.utf8.count), with: text.utf8)
        }
        func octal(_ value: Int64, digits: Int) -> String {
            let text = String(value, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(String(name.prefix(100)), at: 0)
        put("0000600", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(octal(Int64(content.count), digits: 11), at: 124)
        put(octal(max(0, seconds), digits: 11), at: 136)
        // The sum counts its own field as spaces.
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        let sum = header.reduce(0) { $0 + Int64($1) }
        put("\(octal(sum, digits: 6))\0 ", at: 148)
        bytes += header + content
        bytes += [UInt8](repeating: 0, count: (Self.blockBytes - content.count % Self.blockBytes) % Self.blockBytes)
    }

    /// The archive with the two empty blocks at its end.
    var finished: [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * Self.blockBytes) }
}
