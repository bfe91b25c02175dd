/// The messages of an answer, without those that only control the exchange. Ends at the first incomplete one.
package struct NetlinkMessages: Sequence, IteratorProtocol {
    /// Valid as long as the bytes it looks at.
    package struct Message {
        package let type: UInt16
        /// The bytes that follow the header.
        package let body: UnsafeRawBufferPointer
    }

    private var headers: NetlinkHeaders

    package init(_ bytes: UnsafeRawBufferPointer) {
        headers = NetlinkHeaders(bytes)
    }

    package mutating func next() -> Message? {
        while let header = headers.next() {
            // Types below NLMSG_MIN_TYPE are control messages.
            if header.type >= 0x10 { return Message(type: header.type, body: header.body) }
        }
        return nil
    }
}

/// All messages of a datagram (`struct nlmsghdr`), whatever their type.
struct NetlinkHeaders: Sequence, IteratorProtocol {
    struct Header {
        let type: UInt16
        let flags: UInt16
        let sequence: UInt32
        let port: UInt32
        let body: UnsafeRawBufferPointer
    }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Whether no complete message is left.
    var isAtEnd: Bool { position >= bytes.count }

    mutating func next() -> Header? {
        guard bytes.count - position >= 16 else { return nil }
        let length = Int(bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
        guard length >= 16, length <= bytes.count - position else { return nil }
        defer { position += (length + 3) & ~3 }
        return Header(
            type: bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt16.self),
            flags: bytes.loadUnaligned(fromByteOffset: position + 6, as: UInt16.self),
            sequence: bytes.loadUnaligned(fromByteOffset: position + 8, as: UInt32.self),
            port: bytes.loadUnaligned(fromByteOffset: position + 12, as: UInt32.self),
            body: UnsafeRawBufferPointer(rebasing: bytes[(position + 16)..<(position + length)]))
    }
}

/// The attributes (`struct nlattr`) of a message or of another attribute, from `offset` on. Ends at the first
/// incomplete one.
struct NetlinkAttributes: Sequence, IteratorProtocol {
    /// Valid as long as the bytes it looks at.
    struct Attribute {
        /// The type without the flags for nesting and byte order.
        let type: UInt16
        let payload: UnsafeRawBufferPointer

        /// The attributes inside this one.
        var nested: NetlinkAttributes { NetlinkAttributes(payload, from: 0) }

        /// A number of exactly this width; `nil` for any other length.
        func number<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type = Number.self) -> Number? {
            payload.count == MemoryLayout<Number>.size ? payload.loadUnaligned(as: Number.self) : nil
        }

        /// The text up to its NUL; `nil` if it has none or is no text.
        var text: String? { terminated?.text }

        /// Likewise, for an interface's name, which may have any bytes.
        var name: String? { terminated?.distinctText }

        private var terminated: UnsafeRawBufferPointer? {
            guard let end = payload.firstIndex(of: 0), end > 0 else { return nil }
            return UnsafeRawBufferPointer(rebasing: payload[..<end])
        }
    }

    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    init(_ bytes: UnsafeRawBufferPointer, from offset: Int) {
        self.bytes = bytes
        position = offset
    }

    mutating func next() -> Attribute? {
        guard position >= 0, bytes.count - position >= 4 else { return nil }
        let length = Int(bytes.loadUnaligned(fromByteOffset: position, as: UInt16.self))
        guard length >= 4, length <= bytes.count - position else { return nil }
        defer { position += (length + 3) & ~3 }
        return Attribute(
            type: bytes.loadUnaligned(fromByteOffset: position + 2, as: UInt16.self) & 0x3fff,
            payload: UnsafeRawBufferPointer(rebasing: bytes[(position + 4)..<(position + length)]))
    }
}

extension UnsafeRawBufferPointer {
    /// A number of a kernel structure, in the machine's byte order; `nil` beyond the end.
    func number<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as _: Number.Type = Number.self
    ) -> Number? {
        guard offset >= 0, offset <= count, count - offset >= MemoryLayout<Number>.size else { return nil }
        return loadUnaligned(fromByteOffset: offset, as: Number.self)
    }
}
