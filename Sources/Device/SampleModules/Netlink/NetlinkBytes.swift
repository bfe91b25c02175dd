/// Writes the kernel's structures: numbers in the machine's byte order, attributes padded to four bytes.
package struct NetlinkBytes: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func add(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
    }

    package mutating func add(_ part: [UInt8]) {
        bytes.append(contentsOf: part)
    }

    /// `struct nlattr` and its padding.
    package mutating func add(attribute type: UInt16, _ payload: [UInt8]) {
        add(UInt16(4 + payload.count))
        add(type)
        add(payload)
        while bytes.count % 4 != 0 { bytes.append(0) }
    }

    package mutating func add(attribute type: UInt16, number: some FixedWidthInteger) {
        add(attribute: type, withUnsafeBytes(of: number) { Array($0) })
    }

    /// Text with its NUL.
    package mutating func add(attribute type: UInt16, text: String) {
        add(attribute: type, Array(text.utf8) + [0])
    }
}
