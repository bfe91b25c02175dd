/// Turns the parameters of a text of the registry, `?` or `?1`, into those of PostgreSQL, `$1`. Pure.
///
/// Text in quotes is left alone. The registry's texts have neither comments nor operators with a question mark.
enum RegistryPlaceholders {
    static func translated(_ sql: String) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(sql.utf8.count + 16)
        var quote: UInt8?
        var isParameter = false
        var count = 0

        /// A `?` without a number gets the next one.
        func endParameter() {
            guard isParameter else { return }
            isParameter = false
            guard result.last == UInt8(ascii: "$") else { return }
            count += 1
            result += Array(String(count).utf8)
        }

        for byte in sql.utf8 {
            if isParameter, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { endParameter() }
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                quote = byte
            } else if byte == UInt8(ascii: "?") {
                isParameter = true
                result.append(UInt8(ascii: "$"))
                continue
            }
            result.append(byte)
        }
        endParameter()
        return String(decoding: result, as: UTF8.self)
    }
}
