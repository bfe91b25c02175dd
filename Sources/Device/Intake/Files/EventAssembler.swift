/// Makes events of the bytes of a file: a line each, or several lines of which the first matches a pattern.
///
/// A line ends with `\n` or `\r\n`. A line over the limit keeps its first bytes, and the rest is counted. A further
/// line for which an event has no room begins another event, so that lines whose first one never matches are kept too.
/// Pure: what is open is part of the state, so that it can be stored with the position behind it.
struct EventAssembler: Equatable, Sendable {
    struct Event: Equatable, Sendable {
        /// Without its last line end. Any bytes.
        var text: [UInt8]
        /// Bytes behind `text` that were not kept.
        var leftOutBytes: Int
    }

    /// An event that is not complete.
    struct Open: Equatable, Sendable {
        var text: [UInt8] = []
        var leftOutBytes = 0
        /// Its last line has not ended.
        var isLineOpen = false
    }

    var open: Open?
    private let limit: Int
    /// `nil`: each line is an event.
    private let isStart: (@Sendable (UnsafeRawBufferPointer) -> Bool)?

    /// - Parameters:
    ///   - limit: bytes of an event, at least 1.
    ///   - isStart: whether a line, without its end, begins an event. Of a line over the limit it sees the first bytes.
    init(limit: Int, isStart: (@Sendable (UnsafeRawBufferPointer) -> Bool)? = nil) {
        self.limit = max(1, limit)
        self.isStart = isStart
    }

    static func == (left: EventAssembler, right: EventAssembler) -> Bool {
        left.open == right.open && left.limit == right.limit
    }

    /// - Parameters:
    ///   - bytes: what follows in the file.
    ///   - event: receives each event that is complete.
    ///   - goesOn: asked after each line; `false` ends the call.
    /// - Returns: how many bytes were used. The rest is a line without its end; it comes again with more behind it.
    mutating func add(
        _ bytes: UnsafeRawBufferPointer, event: (Event) -> Void, goesOn: () -> Bool = { true }
    ) -> Int {
        var used = 0
        while used < bytes.count, goesOn() {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
                // A line over the limit is not waited for in one piece.
                guard open?.isLineOpen == true || rest.count > limit else { break }
                addPiece(rest, endsLine: false, event)
                return bytes.count
            }
            addPiece(UnsafeRawBufferPointer(rebasing: rest[..<end]), endsLine: true, event)
            used += end + 1
        }
        return used
    }

    /// Nothing follows: a last line without its end is a line, and the open event is complete.
    mutating func finish(_ rest: UnsafeRawBufferPointer = .init(start: nil, count: 0), event: (Event) -> Void) {
        if !rest.isEmpty { addPiece(rest, endsLine: true, event) }
        if let open { event(Event(text: open.text, leftOutBytes: open.leftOutBytes)) }
        open = nil
    }

    private mutating func addPiece(_ piece: UnsafeRawBufferPointer, endsLine: Bool, _ event: (Event) -> Void) {
        var piece = piece
        if endsLine, piece.last == UInt8(ascii: "\r") { piece = UnsafeRawBufferPointer(rebasing: piece.dropLast()) }
        if open?.isLineOpen != true {
            if let former = open {
                let hasRoom = former.leftOutBytes == 0 && former.text.count + 1 + piece.count <= limit
                if !hasRoom || isStart?(UnsafeRawBufferPointer(rebasing: piece.prefix(limit))) ?? true {
                    event(Event(text: former.text, leftOutBytes: former.leftOutBytes))
                    open = Open()
                } else {
                    append([UInt8(ascii: "\n")])
                }
            } else {
                open = Open()
            }
        }
        append(piece)
        open?.isLineOpen = !endsLine
        if isStart == nil, endsLine, let complete = open {
            event(Event(text: complete.text, leftOutBytes: complete.leftOutBytes))
            open = nil
        }
    }

    private mutating func append(_ piece: some Collection<UInt8>) {
        guard open != nil else { return }
        // Once a byte was left out, none that follows is kept.
        let room = open!.leftOutBytes > 0 ? 0 : max(0, limit - open!.text.count)
        open!.text.append(contentsOf: piece.prefix(room))
        open!.leftOutBytes += max(0, piece.count - room)
    }
}
