import ArgumentParser
import Glibc
import LogStore

struct TailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail", abstract: "Prints the latest lines, and with -f what is logged from then on.")

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

    /// Between two looks at the directory: a person sees no delay, a battery no wake-up worth mentioning.
    private static let pauseMicroseconds: UInt32 = 200_000

    func validate() throws {
        guard (0...1_000_000).contains(lines) else {
            throw ValidationError("--lines is \(lines), must be 0 to 1000000")
        }
    }

    func run() throws {
        guard try collector.place(data: store.data) == .store else {
            throw LogCommandError(
                .usage,
                "tail is for logs of this machine: a collector has what a device sent, not what it logs now. See show --since 15m, and request"
            )
        }
        let snapshot = try store.snapshot(filter.kinds)
        let wanted = filter.filter()
        var output = StandardOutput()
        let style = view.style(isTerminal: output.isTerminal, isJSON: json)
        let latest = try LatestLines(lines, of: snapshot, filter: wanted)
        try print(latest.lines, style, &output)
        var shortfall = Shortfall()
        shortfall.add(snapshot.problems + latest.problems)
        guard follow else { return try shortfall.throwIfAny() }
        for message in shortfall.messages { StandardError.warn(message) }
        let follower = try StoreFollower(after: snapshot, filter: wanted)
        while true {
            try print(try follower.poll(), style, &output)
            usleep(Self.pauseMicroseconds)
        }
    }

    private func print(_ lines: [[UInt8]], _ style: LineStyle, _ output: inout StandardOutput) throws(LogCommandError) {
        for line in lines {
            if style.isPlain {
                try output.write(line)
            } else {
                try output.write(line.withUnsafeBytes { style.shown($0) })
            }
        }
        try output.flush()
    }
}
