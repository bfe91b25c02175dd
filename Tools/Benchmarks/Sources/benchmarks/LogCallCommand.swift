import ArgumentParser
import Glibc
import LogStore
import Logging

struct LogCallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-call",
        abstract:
            """
            What a log call costs its caller, and what four threads do at full speed, beside swift-log's own handler \
            and write(2).
            """
    )

    @OptionGroup var options: MeasurementOptions

    @Option(help: "Seconds of each stretch with four threads.")
    var seconds = 10.0

    func run() async throws {
        try options.report(try await Self.compare(options, seconds: seconds))
    }

    static func compare(_ options: MeasurementOptions, seconds: Double) async throws -> [Comparison] {
        [try await filtered(options), try await oneThread(options), try await fourThreads(options, seconds: seconds)]
    }

    private static func filtered(_ options: MeasurementOptions) async throws -> Comparison {
        let calls = options.records * 100
        let (ours, theirs) = ("LogStore, verbose at level information", "swift-log's own handler, debug at level info")
        return try await Comparison.run(
            "filtered out", unit: "ns a call", rounds: options.rounds,
            [
                Contestant(theirs) {
                    var logger = Logger(label: "benchmarks") { StreamLogHandler.standardError(label: $0) }
                    logger.logLevel = .info
                    return try LogLoad.nanoseconds(calls) { logger.debug("request \($0) took \($0) ms") }
                },
                Contestant(ours, baseline: theirs) {
                    try await LogLoad.withStore(options.directory) { store in
                        try LogLoad.nanoseconds(calls) { store.verbose("request \($0) took \($0) ms") }
                    }
                },
                Contestant("the same through swift-log", baseline: theirs) {
                    try await LogLoad.withStore(options.directory) { store in
                        let logger = Logger(label: "benchmarks") { LogStoreHandler(store: store, label: $0) }
                        return try LogLoad.nanoseconds(calls) { logger.debug("request \($0) took \($0) ms") }
                    }
                },
            ])
    }

    private static func oneThread(_ options: MeasurementOptions) async throws -> Comparison {
        let lines = options.records
        let bare = "write(2) for each line, made before"
        func store(_ name: String, ring: Bool = false, _ call: @escaping (LogStore, Int) -> Void) -> Contestant {
            Contestant(name, baseline: bare) {
                try await LogLoad.withStore(options.directory, ring: ring) { store in
                    let time = try LogLoad.nanoseconds(lines, pause: store.flush) { call(store, $0) }
                    try LogLoad.check(store, wrote: lines)
                    return time
                }
            }
        }
        return try await Comparison.run(
            "one thread", unit: "ns a call", rounds: options.rounds,
            [
                Contestant(bare) {
                    let file = try LogLoad.OpenFile(in: options.directory)
                    return try LogLoad.nanoseconds(lines) { _ in file.writeLine() }
                },
                Contestant("swift-log's own handler to a file", baseline: bare) {
                    let file = try LogLoad.OpenFile(in: options.directory)
                    return try file.asStandardError {
                        let logger = Logger(label: "benchmarks") { StreamLogHandler.standardError(label: $0) }
                        return try LogLoad.nanoseconds(lines) { _ in logger.info(.init(stringLiteral: LogLoad.message))
                        }
                    }
                },
                store("LogStore, information") { store, _ in store.information(LogLoad.message, category: "app.network")
                },
                store("LogStore, information, two numbers in the text") { store, number in
                    store.information(
                        "request \(number) took \(number) ms and was answered from the cache", category: "app.network")
                },
                store("LogStore, information, two fields") { store, _ in
                    store.information(
                        LogLoad.message, category: "app.network",
                        metadata: ["host": "collector.example", "attempt": "2"])
                },
                store("LogStore, verbose into the ring", ring: true) { store, _ in
                    store.verbose(LogLoad.message, category: "app.network")
                },
                Contestant("LogStore through swift-log, information", baseline: bare) {
                    try await LogLoad.withStore(options.directory) { store in
                        let logger = Logger(label: "app.network") { LogStoreHandler(store: store, label: $0) }
                        let time = try LogLoad.nanoseconds(lines, pause: store.flush) { _ in
                            logger.info(.init(stringLiteral: LogLoad.message))
                        }
                        try LogLoad.check(store, wrote: lines)
                        return time
                    }
                },
                store("LogStore, error: in the file when it returns") { store, _ in
                    store.error(LogLoad.message, category: "app.network")
                },
            ])
    }

    private static func fourThreads(_ options: MeasurementOptions, seconds: Double) async throws -> Comparison {
        let bare = "write(2) for each line, made before"
        var notes: [String] = []
        func store(_ name: String, perSecond: Double?) -> Contestant {
            Contestant(name, baseline: bare) {
                try await LogLoad.withStore(options.directory) { store in
                    let burst = try LogLoad.fourThreads(seconds: seconds, perSecond: perSecond) {
                        store.information(LogLoad.message, category: "app.network")
                    }
                    store.flush()
                    notes.append("\(name): \(try LogLoad.account(of: store, after: burst))")
                    return burst.perSecond
                }
            }
        }
        var comparison = try await Comparison.run(
            "four threads, \(Report.number(seconds)) s", unit: "lines a second", rounds: options.rounds,
            [
                Contestant(bare) {
                    let file = try LogLoad.OpenFile(in: options.directory)
                    return try LogLoad.fourThreads(seconds: seconds) { file.writeLine() }.perSecond
                },
                Contestant("swift-log's own handler to a file", baseline: bare) {
                    let file = try LogLoad.OpenFile(in: options.directory)
                    return try file.asStandardError {
                        let logger = Logger(label: "benchmarks") { StreamLogHandler.standardError(label: $0) }
                        return try LogLoad.fourThreads(seconds: seconds) {
                            logger.info(.init(stringLiteral: LogLoad.message))
                        }.perSecond
                    }
                },
                store("LogStore, a million asked for", perSecond: 1_000_000),
                store("LogStore, as fast as they can", perSecond: nil),
            ])
        comparison.notes = notes
        return comparison
    }
}
