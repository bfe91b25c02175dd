import ArgumentParser
import CommandKit
import TelemetryBasics

/// The time that a command looks at, by the devices' clocks.
struct TimeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("From this time on.", valueName: "time"))
    var since: TimeArgument?

    @Option(help: ArgumentHelp("Before this time.", valueName: "time"))
    var until: TimeArgument?

    /// The items of a query.
    /// - Parameter now: microseconds since 1970.
    func query(now: Int64) throws(CommandError) -> [(name: String, value: String?)] {
        let from = since?.microseconds(now: now)
        let to = until?.microseconds(now: now)
        if let from, let to, from >= to {
            throw CommandError(.usage, "--since is not before --until: nothing can be between them")
        }
        return [("from", from.map(Timestamp.text)), ("to", to.map(Timestamp.text))]
    }

    var query: [(name: String, value: String?)] {
        get throws { try query(now: SystemClock.wallMicroseconds()) }
    }
}
