import ArgumentParser
import Foundation

struct LocationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "location",
        abstract: "What module gps costs a release ws1agent and gpsd, beside an agent that does not want the location.",
        discussion: """
            Two agents sample the module system every second; one of them module gps as well, from a gpsd of its own, \
            which gpsfake feeds with the sentences of a receiver that moves. Another gpsd with the same receiver is \
            asked by nobody. All run at the same time; each round is a stretch of that time. Needs Debian's gpsd and \
            gpsd-clients.
            """)

    @OptionGroup var options: MeasurementOptions
    @OptionGroup var ingest: IngestOptions
    @Option(help: "The release build of ws1agent.")
    var agent = "../../.build/shipped/ws1agent"
    @Option(help: "Seconds of one round.")
    var seconds = 60

    func validate() throws {
        guard (10...86_400).contains(seconds) else {
            throw ValidationError("--seconds \(seconds): a number from 10 to 86,400 is needed")
        }
    }

    func run() async throws {
        guard FileManager.default.isExecutableFile(atPath: agent) else {
            throw BenchmarkError("\(agent) is not there. Build it in the repository: Tools/build-release ws1agent")
        }
        let work = try WorkDirectory(in: options.directory)
        let collector = try CollectorProcess(binary: ingest.collector, directory: options.directory)
        try letPositionsBeSent(at: collector)
        let track = 120 + options.rounds * seconds
        let receivers = try ["asked", "left"].map { try FakeReceiver($0, seconds: track, in: work) }
        let settings = [
            ("without", #"{disabledModules: ["gps"]}"#), ("with", #"{gpsd: "127.0.0.1:\#(receivers[0].port)"}"#),
        ]
        let agents = try settings.map { name, settings in
            try Data(settings.utf8).write(to: URL(fileURLWithPath: work.file("\(name).json5")))
            return try MeasuredProcess(
                "the agent \(name) gps", binary: agent,
                arguments: [
                    "run", "--data", work.file(name), "--config", work.file("\(name).json5"), "--collector",
                    "http://127.0.0.1:\(collector.port)", "--enrollment-token", collector.addresses.enrollmentToken,
                    "--sample-interval", "1", "--transmit-interval", "10",
                ], log: work.file("\(name).log"))
        }
        try await Task.sleep(for: .seconds(30))
        var values = [[Double]](repeating: [], count: 4)
        let first = try fixes(work)
        let start = ContinuousClock.now
        for _ in 0..<options.rounds {
            let before = try figures(agents, receivers)
            let began = ContinuousClock.now
            try await Task.sleep(for: .seconds(seconds))
            let minutes = (ContinuousClock.now - began) / .seconds(60)
            for (index, after) in try figures(agents, receivers).enumerated() {
                values[index].append((after.processorSeconds - before[index].processorSeconds) / minutes)
            }
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        let counted = try fixes(work) - first
        guard Double(counted) >= elapsed * 0.8 else {
            throw BenchmarkError("\(counted) samples of module gps in \(Int(elapsed)) s: one a second is due")
        }
        for agent in agents { agent.stop() }
        try options.report([
            comparison("agent", ["without gps", "with gps"], values[0], values[1], "one question a second"),
            comparison(
                "gpsd", ["asked by nobody", "asked once a second"], values[3], values[2], "with gpsfake's part"),
        ])
    }

    private func figures(_ agents: [MeasuredProcess], _ receivers: [FakeReceiver]) throws -> [ProcessFigures] {
        try agents.map { try $0.figures() } + receivers.map { try ProcessFigures(of: $0.daemon()) }
    }

    private func comparison(
        _ name: String, _ names: [String], _ without: [Double], _ with: [Double], _ note: String
    ) -> Comparison {
        var results = zip(names, [without, with]).map { Comparison.Result(name: $0, figures: Figures($1)) }
        results[1].baseline = names[0]
        results[1].ratio = Figures(zip(with, without).map { $0 / $1 })
        return Comparison(
            name: "location, \(name)", unit: "s of processor time a minute", results: results, notes: [note])
    }

    /// Positions are dropped on the device by default, and module gps is in no new profile.
    private func letPositionsBeSent(at collector: CollectorProcess) throws {
        let answer = try HTTPConnection(port: collector.port).send(
            HTTPConnection.request(
                "PATCH", "/api/v1/profiles/default",
                headers: [
                    ("Authorization", "Bearer \(collector.administratorToken)"),
                    ("Content-Type", "application/merge-patch+json"),
                ],
                body: Data(
                    #"{"privacy": {"position": "send"}, "sampling": {"modules": ["system", "gps"]}}"#.utf8)))
        guard answer.status == 200 else {
            throw BenchmarkError("the profile was refused: \(String(decoding: answer.body, as: UTF8.self))")
        }
    }

    /// Samples of module gps that the agent made.
    private func fixes(_ work: WorkDirectory) throws -> Int {
        struct Status: Decodable {
            struct Module: Decodable {
                var name: String
                var samples: Int
            }
            var modules: [Module]
        }
        let output = try MeasuredProcess.output(agent, ["status", "--data", work.file("with"), "--json"])
        return try JSONDecoder().decode(Status.self, from: output).modules.first { $0.name == "gps" }?.samples ?? 0
    }
}
