import ArgumentParser
import CollectorClient
import CommandKit
import LogStore
import TelemetryBasics
import WireModel

struct ShowCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Prints lines; merges those of several processes by time.",
        discussion: """
            Into a pipe, lines go as they are on disk. fetch prints them in the order of the disk. At a collector, \
            show prints only lines that the device has sent; request asks the device for more. Without --device each \
            line begins with its device's id.
            """)

    @Flag(help: "Print each line as a JSON object: time, level, number, category, message, metadata.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup var view: ViewOptions
    @OptionGroup(title: "At a collector") var chunkOptions: ChunkOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    var application: ApplicationOptions { filter.application }

    func runLocally() throws {
        let snapshot = try store.snapshot(filter.kinds, application)
        let printer = LinePrinter(view, isJSON: json)
        let lines = try MergedLines(snapshot, filter: filter.filter())
        try lines.forEach { (line) throws(CommandError) in try printer.print(line) }
        try printer.flush()
        try Shortfall(snapshot.problems + lines.problems).throwIfAny()
    }

    func runRemotely() async throws {
        let printer = LinePrinter(view, isJSON: json)
        try await ask { client, scope in
            var query = try filter.query(scope).with("order", "time")
            let isOfMany = scope.device == nil
            if isOfMany { query = query.with("label", "device") }
            do { try await client.lines(query) { try printer.print($0, isLabelled: isOfMany) } } catch {
                // The lines that came before the error are complete.
                try printer.flush()
                throw error
            }
            if printer.lines == 0 { try await client.requireDevice(scope) }
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

    /// - Parameter isLabelled: the line begins with a device's id and a space.
    func print(_ line: UnsafeRawBufferPointer, isLabelled: Bool = false) throws(CommandError) {
        lines += 1
        if style.isPlain {
            try output.write(line)
        } else if isLabelled, let space = line.firstIndex(of: UInt8(ascii: " ")) {
            let device = String(decoding: line[..<space], as: UTF8.self).escapingControlCharacters
            try output.write(
                style.shown(UnsafeRawBufferPointer(rebasing: line[(space + 1)...]), ofDevice: device))
        } else {
            try output.write(style.shown(line))
        }
        if output.isTerminal { try output.flush() }
    }

    func flush() throws(CommandError) { try output.flush() }
}
