import ArgumentParser
import Dispatch
import Foundation
import Synchronization

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Milliseconds of the console's pages, and what people who look at live pages cost the collector.",
        discussion: """
            Each device has enrolled and sent a beacon and a sample. A page is measured from the request to the last \
            byte of the answer, over a keep-alive connection of loopback, beside a page without data. A viewer follows \
            a live page as a browser does. Ingest is measured with and without viewers in the same round.
            """)

    @OptionGroup var options: MeasurementOptions
    @OptionGroup var ingest: IngestOptions
    @Option(help: "The directory of the console's files, as Tools/assets makes it.")
    var assets = "../../.build/shipped/share/ws1collector"
    @Option(help: "Devices of the fleet.")
    var fleet = 10_000
    @Option(help: "People who look at live pages.")
    var viewers = 50

    static let pages = [
        "/", "/devices", "/devices?state=reporting&os=linux", "/devices?q=kiosk-77", "/notices", "/explore",
        "/analytics", "/logs", "/request-logs", "/profiles", "/audit", "/tokens",
    ]

    func validate() throws {
        guard (1...1_000_000).contains(fleet) else {
            throw ValidationError("--fleet \(fleet): a number from 1 to 1000000 is needed")
        }
        guard (1...1000).contains(viewers) else {
            throw ValidationError("--viewers \(viewers): a number from 1 to 1000 is needed")
        }
    }

    func run() async throws {
        let collector = try CollectorProcess(
            binary: ingest.collector, directory: options.directory, arguments: ["--assets", assets])
        try ConsoleFleet.enroll(fleet, at: collector.addresses)
        try options.report([try await pages(collector), try await live(collector), try await sharedIngest(collector)])
    }

    private func pages(_ collector: CollectorProcess) async throws -> Comparison {
        let visitor = try ConsoleVisitor(port: collector.port, token: collector.administratorToken)
        let baseline = "GET /about"
        let contestants = ["/about"] + Self.pages
        var comparison = try await Comparison.run(
            "console, \(fleet) devices", unit: "ms", rounds: options.rounds,
            contestants.map { address in
                Contestant("GET \(address)", baseline: address == "/about" ? nil : baseline) {
                    let times = try (0..<5).map { _ in try visitor.milliseconds(address) }.sorted()
                    return times[2]
                }
            })
        let files = try ["console.css", "console.js", "charts.js", "chart.js", "icon.svg"].map {
            try visitor.load("/assets/\($0)?1")
        }.reduce(0, +)
        let largest = try Self.pages.map { try visitor.load($0) }.max() ?? 0
        comparison.notes = [
            """
            the largest of these pages has \(Report.number(Double(largest) / 1000)) KB compressed, all files that \
            pages load \(Report.number(Double(files) / 1000)) KB
            """
        ]
        return comparison
    }

    /// The share of one core that the collector uses.
    private func live(_ collector: CollectorProcess) async throws -> Comparison {
        func share(isWatched: Bool) throws -> Double {
            let seconds = 10.0
            var used = 0.0
            let measure = {
                let before = collector.processorSeconds
                wait(seconds)
                used = collector.processorSeconds - before
            }
            if isWatched { _ = try watching(collector, measure) } else { measure() }
            return used / seconds * 100
        }
        let idle = "nobody looks"
        return try await Comparison.run(
            "console, live", unit: "% of a core", rounds: options.rounds,
            [
                Contestant(idle) { try share(isWatched: false) },
                Contestant("\(viewers) people look at Home and Devices", baseline: idle) { try share(isWatched: true) },
            ])
    }

    private func sharedIngest(_ collector: CollectorProcess) async throws -> Comparison {
        let alone = "ingest, 100 to a part"
        var loads = ConsoleVisitor.Loads()
        var comparison = try await Comparison.run(
            "console, beside ingest", unit: "records/s", rounds: options.rounds,
            [
                Contestant(alone) { try self.recordsPerSecond(collector) },
                Contestant("the same while \(viewers) people look", baseline: alone) {
                    var rate = 0.0
                    loads.add(try self.watching(collector) { rate = try self.recordsPerSecond(collector) })
                    return rate
                },
            ])
        comparison.notes = ["pages loaded meanwhile: \(loads.answered), refused by the limits: \(loads.refused)"]
        return comparison
    }

    private func recordsPerSecond(_ collector: CollectorProcess) throws -> Double {
        try IngestCommand.measure(
            collector, records: options.records, recordsPerPart: 100, devices: ingest.devices
        ).recordsPerSecond
    }

    private func wait(_ seconds: Double) { Thread.sleep(forTimeInterval: seconds) }

    /// Runs `body` while people look at live pages.
    /// - Returns: the pages that they have loaded.
    private func watching(_ collector: CollectorProcess, _ body: () throws -> Void) throws -> ConsoleVisitor.Loads {
        let isOver = Mutex(false)
        let loads = Mutex(ConsoleVisitor.Loads())
        let failure = Mutex<(any Error)?>(nil)
        let people = try (0..<viewers).map { _ in
            try ConsoleVisitor(
                port: collector.port, token: collector.createToken("--role", "viewer", "--name", "viewer"))
        }
        let group = DispatchGroup()
        for (number, visitor) in people.enumerated() {
            group.enter()
            Thread {
                defer { group.leave() }
                do {
                    let (page, topic) = number.isMultiple(of: 2) ? ("/", "notices") : ("/devices", "devices")
                    let count = try visitor.follow(page, topics: topic) { isOver.withLock { $0 } }
                    loads.withLock { $0.add(count) }
                } catch { failure.withLock { $0 = error } }
            }.start()
        }
        // Everybody has opened a page.
        wait(2)
        try body()
        isOver.withLock { $0 = true }
        group.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
        return loads.withLock { $0 }
    }
}
