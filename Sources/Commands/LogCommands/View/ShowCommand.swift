import ArgumentParser
import CollectorClient
import CommandKit
import LogStore

struct ShowCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Prints lines; merges those of several processes by time.",
        discussion: """
            Into a pipe, lines go as they are on disk. fetch prints them in the order of the disk. At a collector, show prints only lines that \
            the device has sent; request asks the device for more.
            """)

    @Flag(help: "Print each line as a JSON object: time, level, number, category, message, metadata.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup var view: ViewOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    func runLocally() throws {
        let snapshot = try store.snapshot(filter.kinds)
        let printer = LinePrinter(view, isJSON: json)
        let lines = try MergedLines(snapshot, filter: filter.filter())
        try lines.forEach { (line) throws(CommandError) in try printer.print(line) }
        try printer.flush()
        try Shortfall(snapshot.problems + lines.problems).throwIfAny()
    }

    func runRemotely() async throws {
        let printer = LinePrinter(view, isJSON: json)
        try await collector.ask { client, device in
            let query = try filter.query(device).with("order", "time")
            do { try await client.lines(query) { try printer.print($0) } } catch {
                // The lines that came before the error are complete.
                try printer.flush()
                throw error
            }
            if printer.lines == 0 { try await client.requireDevice(device) }
        }
        try printer.flush()
    }
}

/// Prints lines to standard output. On a terminal each line appears at once.
final class LinePrinter {
    private let style: LineStyle
    private var output = StandardOutput()
    private(set) var lines = 0

    init(_ view: ViewOptions, isJSON: Bool) { style = view.style(isJSON: isJSON) }

    func print(_ line: UnsafeRawBufferPointer) throws(CommandError) {
        lines += 1
        if style.isPlain { try output.write(line) } else { try output.write(style.shown(line)) }
        if output.isTerminal { try output.flush() }
    }

    func flush() throws(CommandError) { try output.flush() }
}
