/// Prints lines as they come.
final class LinePrinter {
    private let style: LineStyle
    private var output = StandardOutput()
    private(set) var lines = 0

    init(_ view: ViewOptions, isJSON: Bool) { style = view.style(isTerminal: output.isTerminal, isJSON: isJSON) }

    func print(_ line: UnsafeRawBufferPointer) throws(LogCommandError) {
        lines += 1
        if style.isPlain { try output.write(line) } else { try output.write(style.shown(line)) }
        // Somebody watches.
        if output.isTerminal { try output.flush() }
    }

    func flush() throws(LogCommandError) { try output.flush() }
}
