import Glibc
import TestKit
import Testing

@testable import MetricIntake

/// A program that prints measurements. Row 18 of the table of cases: one that hangs, floods or leaves others behind.
@Suite(.timeLimit(.minutes(5))) struct ExecSourceTests {
    private static func source(
        _ script: String, limit: Duration = .seconds(120), series: Int = 100
    ) -> ExecSource {
        ExecSource(.init(program: "/bin/sh", arguments: ["-c", script], limit: limit, series: series))
    }

    private static func values(_ points: [MetricPoint]) -> [String: MetricValue] {
        Dictionary(points.map { ($0.name, $0.value) }) { _, last in last }
    }

    private static func isRunning(_ process: Int32) -> Bool { kill(process, 0) == 0 }

    @Test func `Each line is a measurement, with unit and attributes`() async {
        let source = Self.source(
            """
            echo '{"name":"queue.length","value":3,"unit":"{job}","attributes":{"queue":"mail"}}'
            printf '{"name":"last","value":0.5}'
            """)
        let points = await source.collect()
        #expect(
            points.contains(
                MetricPoint("queue.length", unit: "{job}", attributes: ["queue": "mail"], .integer(3))))
        #expect(points.contains(MetricPoint("last", .number(0.5))), "the last line needs no end")
        #expect(Self.values(points)["ws1.metrics.up"] == .integer(1))
        #expect(source.report.series == 2 && source.report.problem == nil)
    }

    @Test func `Lines that are wrong are counted, one is told, and the others count`() async {
        let source = Self.source(
            #"echo '{"name":"good","value":1}'; echo oops; echo '{"name":"bad name","value":1}'"#)
        let values = Self.values(await source.collect())
        #expect(values["good"] == .integer(1) && values["ws1.metrics.invalid"] == .integer(2))
        #expect(values["ws1.metrics.up"] == .integer(1))
        #expect(source.report.problem?.contains("not a JSON object") == true)
        #expect(source.report.problem?.contains("oops") == false, "what a program prints may be of a person")
    }

    @Test func `A program that hangs is killed with what it started, and what it printed before counts`() async throws {
        let directory = try TemporaryDirectory()
        let source = Self.source(
            """
            sleep 600 & echo $! >'\(directory.file("child"))'; echo $$ >'\(directory.file("parent"))'
            echo '{"name":"before","value":1}'; printf '{"name":"torn"'; wait
            """, limit: .seconds(5))
        let values = Self.values(await source.collect())
        #expect(values["before"] == .integer(1) && values["ws1.metrics.up"] == .integer(0))
        #expect(values["ws1.metrics.invalid"] == .integer(0), "a line that was cut off is no wrong line")
        #expect(source.report.problem?.contains("ran longer than") == true)
        let parent = try #require(Int32(try Self.text(directory.file("parent"))))
        var status: Int32 = 0
        #expect(waitpid(parent, &status, WNOHANG) == -1 && errno == ECHILD, "it is reaped")
        let child = try #require(Int32(try Self.text(directory.file("child"))))
        // It is nobody's child any more, and its new parent reaps it at its leisure.
        while Self.isRunning(child), try Self.state(of: child) != "Z" { sched_yield() }
    }

    @Test func `A program that floods is killed at the limit of bytes`() async {
        let source = Self.source("echo '{\"name\":\"first\",\"value\":1}'; exec yes")
        let values = Self.values(await source.collect())
        #expect(values["first"] == .integer(1) && values["ws1.metrics.up"] == .integer(0))
        #expect(source.report.problem?.contains("printed more than 1048576 bytes") == true)
    }

    @Test func `A program that leaves others behind is not waited for, and they are killed`() async throws {
        let directory = try TemporaryDirectory()
        // The sleeper holds the output open.
        let source = Self.source(
            "sleep 600 & echo $! >'\(directory.file("child"))'; echo '{\"name\":\"a\",\"value\":1}'")
        let values = Self.values(await source.collect())
        #expect(values["a"] == .integer(1) && values["ws1.metrics.up"] == .integer(1))
        let child = try #require(Int32(try Self.text(directory.file("child"))))
        while Self.isRunning(child), try Self.state(of: child) != "Z" { sched_yield() }
    }

    @Test func `A hundred runs leave no zombie`() async throws {
        let source = Self.source(#"echo "{\"name\":\"process\",\"value\":$$}""#)
        for _ in 0..<100 {
            let value = try #require(Self.values(await source.collect())["process"])
            guard case .integer(let process) = value else {
                Issue.record("\(value)")
                return
            }
            var status: Int32 = 0
            #expect(waitpid(Int32(process), &status, WNOHANG) == -1 && errno == ECHILD)
        }
    }

    @Test func `A failure is told with the first line of standard error`() async {
        let source = Self.source("echo 'no such queue' >&2; echo more >&2; exit 3")
        let values = Self.values(await source.collect())
        #expect(values["ws1.metrics.up"] == .integer(0))
        #expect(source.report.problem == "/bin/sh: exited with 3. It says: no such queue")
    }

    @Test func `A program that is not there is told, and looked for again`() async {
        let source = ExecSource(.init(program: "/nonexistent/p", limit: .seconds(1), series: 1))
        for _ in 0..<2 {
            #expect(Self.values(await source.collect())["ws1.metrics.up"] == .integer(0))
            #expect(source.report.problem == "/nonexistent/p does not start: No such file or directory")
        }
    }

    @Test func `What is over the limit of series is counted, and the count is a sample`() async {
        let source = Self.source(
            "i=0; while [ $i -lt 50 ]; do echo \"{\\\"name\\\":\\\"n$i\\\",\\\"value\\\":$i}\"; i=$((i+1)); done",
            series: 20)
        let points = await source.collect()
        #expect(points.count { !$0.name.hasPrefix("ws1.") } == 20)
        #expect(Self.values(points)["ws1.metrics.refused"] == .integer(30))
        #expect(source.report.refused == 30 && source.report.problem?.contains("Raise its limit") == true)
    }

    @Test func `A run that is cancelled ends`() async throws {
        let directory = try TemporaryDirectory()
        let source = Self.source("echo $$ >'\(directory.file("parent"))'; exec sleep 600", limit: .seconds(300))
        let run = Task { await source.collect() }
        while try Self.text(directory.file("parent")).isEmpty { await Task.yield() }
        run.cancel()
        #expect(Self.values(await run.value)["ws1.metrics.up"] == .integer(0))
        let parent = try #require(Int32(try Self.text(directory.file("parent"))))
        #expect(!Self.isRunning(parent))
    }

    /// The file's first line; empty if there is none yet.
    private static func text(_ path: String) throws -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard fgets(&buffer, 256, file) != nil else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The letter of proc(5); `Z` if it is gone meanwhile.
    private static func state(of process: Int32) throws -> String {
        let text = try text("/proc/\(process)/stat")
        return text.split(separator: ")").last?.split(separator: " ").first.map(String.init) ?? "Z"
    }
}
