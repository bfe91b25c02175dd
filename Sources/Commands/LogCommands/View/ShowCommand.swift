import ArgumentParser
import CollectorClient
import LogStore

struct ShowCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Prints lines, those of several processes merged by time.",
        discussion: """
            Into a pipe lines go as they are on disk. For the byte order of the disk, use fetch. Of a collector, only what the device has sent: \
            request asks it for more.
            """)

    @Flag(help: "Print each line as a JSON object: time, level, number, category, message, metadata.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup var view: ViewOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    func runLocally() throws {
        let snapshot = try store.snapshot(filter.kinds)
        var output = StandardOutput()
        let style = view.style(isTerminal: output.isTerminal, isJSON: json)
        let lines = try MergedLines(snapshot, filter: filter.filter())
        try lines.forEach { (line) throws(LogCommandError) in
            if style.isPlain { try output.write(line) } else { try output.write(style.shown(line)) }
        }
        try output.flush()
        var shortfall = Shortfall()
        shortfall.add(snapshot.problems + lines.problems)
        try shortfall.throwIfAny()
    }
}

extension ShowCommand {
    func runRemotely() async throws {
        let printer = LinePrinter(view, isJSON: json)
        try await collector.access().ask { client, device in
            let query = try filter.query(device).with("order", "time")
            do { try await client.lines(query) { try printer.print($0) } } catch {
                // What came is as good as it was.
                try printer.flush()
                throw error
            }
            if printer.lines == 0 { try await client.requireDevice(device) }
        }
        try printer.flush()
    }
}

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
