import ArgumentParser
import LogStore

struct ShowCommand: AsyncParsableCommand {
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

    func run() async throws {
        switch try collector.place(data: store.data) {
        case .store: try runLocally()
        case .collector: try await runRemotely()
        }
    }

    private func runLocally() throws {
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
