import ArgumentParser
import Foundation

struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract:
            "What a release ws1agent costs a machine that samples every second, beside collectd with the same inputs.",
        discussion: """
            The agent samples every second, transmits every ten to a collector on loopback, and keeps everything \
            durably; collectd writes the same inputs to CSV files. Both run at the same time; each round is a stretch \
            of that time. Needs Debian's collectd-core and strip.
            """)

    @OptionGroup var options: MeasurementOptions
    @OptionGroup var ingest: IngestOptions
    @OptionGroup var agent: AgentOptions

    func run() async throws {
        try options.report(try await Self.compare(options, collector: ingest.collector, agent))
    }

    /// The cost that the agent may have, and the one it should have.
    private struct Measure: Sendable {
        var name: String
        var unit: String
        var floor: Double
        var goal: Double
        var value: @Sendable (_ before: ProcessFigures, _ after: ProcessFigures, _ minutes: Double) -> Double
    }

    private static let measures = [
        Measure(name: "processor time", unit: "s a minute", floor: 0.15, goal: 0.08) { before, after, minutes in
            (after.processorSeconds - before.processorSeconds) / minutes
        },
        Measure(name: "resident", unit: "MB", floor: 24, goal: 16) { _, after, _ in Double(after.residentBytes) / 1e6 },
        Measure(name: "resident and private", unit: "MB", floor: 5, goal: 3) { _, after, _ in
            Double(after.privateBytes) / 1e6
        },
        Measure(name: "written", unit: "KB a minute", floor: 400, goal: 176) { before, after, minutes in
            Double(after.writtenBytes - before.writtenBytes) / 1e3 / minutes
        },
    ]

    private static let names = ["collectd, csv", "ws1agent"]

    static func compare(_ options: MeasurementOptions, collector path: String, _ agent: AgentOptions) async throws
        -> [Comparison]
    {
        for (binary, remedy) in [
            (agent.agent, "Build it in the repository: Tools/build-release ws1agent"),
            (agent.collectd, "Install Debian's collectd-core, or name it with --collectd"),
        ] where !FileManager.default.isExecutableFile(atPath: binary) {
            throw BenchmarkError("\(binary) is not there. \(remedy)")
        }
        let work = try WorkDirectory(in: options.directory)
        let collector = try CollectorProcess(binary: path, directory: options.directory)
        let collectd = CollectdConfiguration(
            directory: work.path, plugins: agent.collectdPlugins,
            modules: agent.modules.split(separator: ",").map(String.init))
        try Data(collectd.text.utf8).write(to: URL(fileURLWithPath: work.file("collectd.conf")))
        let data = work.file("agent")
        let processes = [
            try MeasuredProcess(
                names[0], binary: agent.collectd, arguments: ["-f", "-C", work.file("collectd.conf")],
                log: work.file("collectd.log")),
            try MeasuredProcess(
                names[1], binary: agent.agent,
                arguments: [
                    "run", "--data", data, "--collector", "http://127.0.0.1:\(collector.port)", "--enrollment-token",
                    collector.addresses.enrollmentToken, "--sample-interval", "1", "--transmit-interval", "10",
                    "--modules",
                    agent.modules,
                ], log: work.file("agent.log")),
        ]
        var values = measures.map { _ in processes.map { _ in [Double]() } }
        try await Task.sleep(for: .seconds(agent.warmUp))
        for _ in 0..<options.rounds {
            let before = try processes.map { try $0.figures() }
            let start = ContinuousClock.now
            try await Task.sleep(for: .seconds(agent.seconds))
            let minutes = (ContinuousClock.now - start) / .seconds(60)
            let after = try processes.map { try $0.figures() }
            for (index, measure) in measures.enumerated() {
                for process in processes.indices {
                    values[index][process].append(measure.value(before[process], after[process], minutes))
                }
            }
        }
        let samples = try stored(agent.agent, data: data)
        let expected = options.rounds * agent.seconds
        guard samples >= expected * 9 / 10 else {
            throw BenchmarkError("the agent had \(samples) samples stored where at least \(expected) were due")
        }
        let lines = try collectdLines(work.file("csv"))
        guard lines >= expected * 9 / 10 else {
            throw BenchmarkError("collectd wrote \(lines) values of its load where at least \(expected) were due")
        }
        for process in processes { process.stop() }
        var comparisons = measures.enumerated().map { comparison($1, values[$0]) }
        let sizes = try [agent.collectd, agent.agent].map {
            [Double(try MeasuredProcess.strippedBytes($0, in: work.path)) / 1e6]
        }
        var size = comparison(Measure(name: "stripped", unit: "MB", floor: 36, goal: 25) { _, _, _ in 0 }, sizes)
        size.notes.append("collectd's plugins and libraries, which lie in files of their own, not counted")
        size.notes.append(
            "inputs of collectd: \(collectd.loaded.joined(separator: ", ")); modules of the agent: \(agent.modules)")
        comparisons.append(size)
        return comparisons
    }

    private static func comparison(_ measure: Measure, _ values: [[Double]]) -> Comparison {
        var results = zip(names, values).map { Comparison.Result(name: $0, figures: Figures($1)) }
        results[1].baseline = names[0]
        results[1].ratio = Figures(zip(values[1], values[0]).map { $0 / $1 })
        let own = results[1].figures.median
        let reached =
            own <= measure.goal
            ? "the goal is reached" : own <= measure.floor ? "the floor is reached" : "the floor is NOT reached"
        var comparison = Comparison(name: measure.name, unit: measure.unit, results: results)
        comparison.notes.append("at most \(measure.floor), better \(measure.goal): \(reached)")
        return comparison
    }

    /// Samples the collector has stored of this agent, by the agent's own balance, which must close.
    private static func stored(_ binary: String, data: String) throws -> Int {
        struct Balance: Decodable {
            struct Stream: Decodable { var stored: Int }
            var streams: [String: Stream]
            var closes: Bool
        }
        let output = try MeasuredProcess.output(binary, ["balance", "--data", data, "--json"])
        let balance = try JSONDecoder().decode(Balance.self, from: output)
        guard balance.closes else { throw BenchmarkError("the agent's balance does not close") }
        return balance.streams["sample"]?.stored ?? 0
    }

    /// One a second for each input; the load's are counted.
    private static func collectdLines(_ directory: String) throws -> Int {
        let load = "\(directory)/benchmark/load"
        return try FileManager.default.contentsOfDirectory(atPath: load).reduce(0) { count, file in
            let text = try String(contentsOfFile: "\(load)/\(file)", encoding: .utf8)
            return count + text.split(separator: "\n").count { !$0.hasPrefix("epoch") }
        }
    }
}
