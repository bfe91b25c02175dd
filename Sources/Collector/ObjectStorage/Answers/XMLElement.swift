/// An element of a small XML document: its name, its text and the elements in it.
///
/// The storage's answers are lists and errors with elements and text only. So this reader accepts nothing else: no
/// document type, hence no entities that could grow or read files; no comments, no processing instructions, no CDATA.
/// Attributes are skipped. Size, depth and the number of elements are limited.
struct XMLElement: Equatable, Sendable {
    let name: String
    /// The text of this element alone, in one piece.
    fileprivate(set) var text = ""
    fileprivate(set) var children: [XMLElement] = []

    fileprivate init(name: String) { self.name = name }

    /// The text of the first child of that name; `nil` without one.
    func text(of child: String) -> String? { children.first { $0.name == child }?.text }
}

extension XMLElement {
    struct Limits: Sendable {
        var bytes = 8 << 20
        var depth = 8
        /// A page of a list has 1,000 objects, each with about ten elements.
        var elements = 50_000
    }

    /// Why the bytes are no document that is accepted.
    struct Fault: Error, Equatable {
        let reason: String
        /// The offset in bytes.
        let offset: Int
    }

    /// Reads a document in UTF-8.
    init(_ bytes: [UInt8], limits: Limits = Limits()) throws(Fault) {
        guard bytes.count <= limits.bytes else { throw Fault(reason: "it is too long", offset: limits.bytes) }
        var parser = Parser(bytes: bytes, limits: limits)
        self = try parser.document()
    }
}

private struct Parser {
    let bytes: [UInt8]
    let limits: XMLElement.Limits
    private var position = 0
    private var elements = 0

    init(bytes: [UInt8], limits: XMLElement.Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func document() throws(XMLElement.Fault) -> XMLElement {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        if skip("<?xml") {
            while !skip("?>") {
                guard next != nil else { throw fault("its declaration has no end") }
                position += 1
            }
        }
        skipBlanks()
        guard next == UInt8(ascii: "<") else { throw fault("it does not begin with an element") }
        let root = try element(depth: 1)
        skipBlanks()
        guard next == nil else { throw fault("there is something after its element") }
        return root
    }

    /// Reads an element at `<`.
    private mutating func element(depth: Int) throws(XMLElement.Fault) -> XMLElement {
        elements += 1
        guard depth <= limits.depth else { throw fault("its elements are nested too deeply") }
        guard elements <= limits.elements else { throw fault("it has too many elements") }
        position += 1
        let name = try name()
        var element = XMLElement(name: name)
        if try skipAttributes() { return element }
        var text: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "<") where skip("</"):
                guard try self.name() == name else { throw fault("an end tag does not match") }
                skipBlanks()
                guard skip(">") else { throw fault("an end tag has no end") }
                guard let valid = String(validating: text, as: UTF8.self) else { throw fault("its text is not UTF-8") }
                element.text = valid
                return element
            case UInt8(ascii: "<"): element.children.append(try self.element(depth: depth + 1))
            case UInt8(ascii: "&"): text += try reference()
            default:
                text.append(byte)
                position += 1
            }
        }
        throw fault("an element has no end")
    }

    /// Skips attributes and the tag's end.
    /// - Returns: whether the element is empty.
    private mutating func skipAttributes() throws(XMLElement.Fault) -> Bool {
        while let byte = next {
            switch byte {
            case UInt8(ascii: ">"):
                position += 1
                return false
            case UInt8(ascii: "/"):
                guard skip("/>") else { throw fault("a tag is malformed") }
                return true
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                position += 1
                while let inner = next, inner != byte { position += 1 }
                guard next != nil else { throw fault("an attribute has no end") }
                position += 1
            case UInt8(ascii: "<"): throw fault("a tag is malformed")
            default: position += 1
            }
        }
        throw fault("a tag has no end")
    }

    /// Reads a reference at `&`: one of the five entities of XML, or a character's number.
    private mutating func reference() throws(XMLElement.Fault) -> [UInt8] {
        let start = position + 1
        // The longest is `&#x10FFFF;`.
        guard let end = bytes[start..<min(start + 9, bytes.count)].firstIndex(of: UInt8(ascii: ";")) else {
            throw fault("a reference has no end")
        }
        let name = String(decoding: bytes[start..<end], as: UTF8.self)
        position = end + 1
        switch name {
        case "amp": return Array("&".utf8)
        case "lt": return Array("<".utf8)
        case "gt": return Array(">".utf8)
        case "quot": return Array("\"".utf8)
        case "apos": return Array("'".utf8)
        default: break
        }
        let number: UInt32? =
            name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst(1), radix: 10)
        guard name.hasPrefix("#"), let number, let scalar = Unicode.Scalar(number) else {
            throw fault("a reference is unknown")
        }
        return Array(String(Character(scalar)).utf8)
    }

    private mutating func name() throws(XMLElement.Fault) -> String {
        let start = position
        while let byte = next {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: ":"):
                position += 1
                continue
            default: break
            }
            break
        }
        guard (1...64).contains(position - start) else { throw fault("a tag is malformed") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(_ text: StaticString) -> Bool {
        let isThere = text.withUTF8Buffer { bytes[position...].starts(with: $0) }
        if isThere { position += text.utf8CodeUnitCount }
        return isThere
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || (0x09...0x0D).contains(byte) { position += 1 }
    }

    private func fault(_ reason: String) -> XMLElement.Fault { XMLElement.Fault(reason: reason, offset: position) }
}
