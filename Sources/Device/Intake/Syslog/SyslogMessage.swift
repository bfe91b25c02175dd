/// A message of syslog: RFC 5424, RFC 3164, and what programs write in its place.
///
///     <34>1 2026-11-29T22:14:15.003Z host su 77 ID47 [id name="value"] text     RFC 5424
///     <34>Nov 29 22:14:15 host su[77]: text                                     RFC 3164
///     <34>Nov 29 22:14:15 su[77]: text                                          syslog(3), into a local socket
///     <34>text
///
/// What is none of these is kept as it came, so that nothing is lost. Pure, and bounded by the bytes that are given.
struct SyslogMessage: Equatable, Sendable {
    /// Kept values of structured data.
    static let maximumValues = 64

    /// 0 (emergency) to 7 (debug).
    var severity = SyslogPriority.assumed & 7
    var facility = SyslogPriority.assumed >> 3
    /// The text of the time that the sender gave.
    var time: String?
    var host: String?
    /// What the program calls itself (APP-NAME, or the tag).
    var identifier: String?
    var process: String?
    var messageID: String?
    /// Structured data, as `element.name`. Values of one name are joined.
    var values: [String: String] = [:]
    /// Values that were not kept.
    var leftOutValues = 0
    /// Bytes that are no UTF-8 are U+FFFD.
    var text = ""
    /// Its form is known. Otherwise `text` is all that came.
    var isKnown = true
}

extension SyslogMessage {
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init()
        var end = bytes.count
        // Senders end datagrams with a line end or a zero.
        while end > 0, [0, UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(bytes[end - 1]) { end -= 1 }
        let whole = UnsafeRawBufferPointer(rebasing: bytes[..<end])
        var reader = SyslogReader(rest: whole[...])
        guard let priority = reader.priority() else {
            text = String(decoding: whole, as: UTF8.self)
            isKnown = false
            return
        }
        severity = priority & 7
        facility = priority >> 3
        if reader.take("1 ") {
            guard !readNew(&reader) else { return }
            self = SyslogMessage(
                severity: severity, facility: facility, text: String(decoding: whole, as: UTF8.self), isKnown: false)
        } else {
            readOld(&reader)
        }
    }

    /// The severity alone, for messages that are counted and not kept.
    static func severity(of bytes: UnsafeRawBufferPointer) -> Int {
        var reader = SyslogReader(rest: bytes[...])
        return (reader.priority() ?? SyslogPriority.assumed) & 7
    }

    /// RFC 5424, behind the version.
    /// - Returns: `false` if it is not.
    private mutating func readNew(_ reader: inout SyslogReader) -> Bool {
        var fields: [String?] = []
        for _ in 0..<5 {
            guard let word = reader.word() else { return false }
            fields.append(word == "-" ? nil : word)
        }
        (time, host, identifier, process, messageID) = (fields[0], fields[1], fields[2], fields[3], fields[4])
        guard readElements(&reader) else { return false }
        guard reader.rest.isEmpty || reader.take(" ") else { return false }
        _ = reader.take("\u{FEFF}")
        text = reader.remainder
        return true
    }

    private mutating func readElements(_ reader: inout SyslogReader) -> Bool {
        if reader.take("-") { return true }
        var count = 0
        while reader.take("[") {
            count += 1
            guard let id = reader.name() else { return false }
            while reader.take(" ") {
                guard let name = reader.name(), reader.take("=\""), let value = reader.value() else { return false }
                add(value, "\(id).\(name)")
            }
            guard reader.take("]") else { return false }
        }
        return count > 0
    }

    private mutating func add(_ value: String, _ name: String) {
        if let former = values[name] {
            values[name] = "\(former), \(value)"
        } else if values.count < Self.maximumValues {
            values[name] = value
        } else {
            leftOutValues += 1
        }
    }

    /// RFC 3164, and the bare text of a local program.
    private mutating func readOld(_ reader: inout SyslogReader) {
        time = reader.oldTime() ?? reader.newTime()
        if time == nil {
            // `error: disk` is a text, and `su[77]: text` has a tag.
            if let tag = reader.tag(), tag.process != nil {
                (identifier, process) = (tag.identifier, tag.process)
                reader = tag.reader
            }
        } else if let tag = reader.tag() {
            (identifier, process) = (tag.identifier, tag.process)
            reader = tag.reader
        } else {
            var behind = reader
            // The host is a host only if a tag follows.
            if let name = behind.word(), let tag = behind.tag() {
                (host, identifier, process) = (name, tag.identifier, tag.process)
                reader = tag.reader
            }
        }
        text = reader.remainder
    }
}
