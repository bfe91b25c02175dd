import ArgumentParser
import CommandKit
import Glibc
import LogStore

struct TailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Prints the latest lines; with -f also each line that is logged from then on.")

    @Option(name: [.customShort("n"), .long], help: "How many lines, 0 to 1000000.")
    var lines = 10

    @Flag(name: [.short, .long], help: "Go on until interrupted.")
    var follow = false

    @Flag(help: "Print each line as a JSON object: time, level, number, category, message, metadata.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup var view: ViewOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    /// The pause between two looks at the directory. It is too short for a person to notice, and long enough to spare
    /// the battery.
    private static let pauseMicroseconds: UInt32 = 200_000

    func validate() throws {
        guard (0...1_000_000).contains(lines) else {
            throw ValidationError("--lines is \(lines), must be 0 to 1000000")
        }
    }

    func run() throws {
        guard try LogPlace(store, collector) == .store else {
            throw CommandError(
                .usage,
                "tail is for logs of this machine, because a collector has only lines that the device has sent. Use "
                    + "show --since 15m, or request")
        }
        let snapshot = try store.snapshot(filter.kinds, filter.application)
        let wanted = filter.filter()
        let printer = LinePrinter(view, isJSON: json)
        let latest = try LatestLines(lines, of: snapshot, filter: wanted)
        try print(latest.lines, printer)
        let shortfall = Shortfall(snapshot.problems + latest.problems)
        guard follow else { return try shortfall.throwIfAny() }
        for message in shortfall.messages { StandardError.warn(message) }
        let follower = try StoreFollower(after: snapshot, filter: wanted)
        var warnings = 0
        while true {
            try print(try follower.poll(), printer)
            for problem in follower.problems.dropFirst(warnings) { StandardError.warn(problem.error.message) }
            warnings = follower.problems.count
            usleep(Self.pauseMicroseconds)
        }
    }

    private func print(_ lines: [[UInt8]], _ printer: LinePrinter) throws {
        for line in lines {
            try line.withUnsafeBytes { try printer.print($0) }
        }
        try printer.flush()
    }
}
