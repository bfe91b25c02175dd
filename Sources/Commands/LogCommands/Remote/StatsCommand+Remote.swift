import LogStore
import WireModel

extension StatsCommand {
    /// Of the lines themselves, each once: what a collector lists of chunks counts a line as often as it was sent.
    func runRemotely() async throws {
        var statistics = Statistics()
        let now = Clock.microseconds
        try await CollectorClient.with(try collector.access()) { client in
            let query = try filter.query(collector, now: now)
            let chunks = try await client.chunks(query)
            statistics.segments = chunks.count
            statistics.storedBytes = chunks.reduce(0) { $0 + $1.storedBytes }
            for (type, name) in [(LogType.application, TypeArgument.application), (.crash, .crash)]
            where filter.type == .all || filter.type == name {
                var tally = statistics
                try await client.lines(try RemoteQuery(client.device, type: name, lines: filter.filter(now: now)), order: "number") {
                    line in
                    tally.add(line, LogLine(line), kind: type == .crash ? .crash : .application)
                }
                statistics = tally
            }
        }
        var output = StandardOutput()
        if json {
            try output.json(statistics)
        } else {
            try output.write(Self.text(statistics, pieces: "chunks", place: "at the collector").utf8)
        }
        try output.flush()
    }
}
