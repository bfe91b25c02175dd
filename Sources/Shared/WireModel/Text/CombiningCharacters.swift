/// Combining characters in a row. Swift compares and hashes text in a time that grows with the square of their number, so that
/// one attribute's name of 256 KiB would take ten seconds each time it is read.
package enum CombiningCharacters {
    /// Most in a row that are read. So many take well under a millisecond, and no language needs as many as 30.
    package static let limit = 1000

    /// Whether more than ``limit`` stand in a row somewhere. The bytes may be anything; what is not UTF-8 ends a row.
    package static func areTooMany(in bytes: UnsafeRawBufferPointer) -> Bool {
        // None takes fewer than two bytes, and each of them is above 0x7F.
        let fewestBytes = 2 * limit
        guard bytes.count > fewestBytes else { return false }
        var start = 0
        for place in 0...bytes.count where place == bytes.count || bytes[place] < 0x80 {
            if place - start > fewestBytes, hasLongRow(UnsafeRawBufferPointer(rebasing: bytes[start..<place])) { return true }
            start = place + 1
        }
        return false
    }

    private static func hasLongRow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var row = 0
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            row = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : row + 1
            if row > limit { return true }
        }
        return false
    }
}
