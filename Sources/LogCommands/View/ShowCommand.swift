import ArgumentParser
import LogStore

struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Prints lines, those of several processes merged by time.",
        discussion: "Into a pipe lines go as they are on disk. For the byte order of the disk, use fetch.")

    @Flag(help: "Print each line as a JSON object: time, level, number, category, message, metadata.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup var view: ViewOptions
    @OptionGroup var store: StoreOptions

    func run() throws {
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
