import Foundation
import Glibc

/// Debian's prometheus, which scrapes one target once a second and is asked for what it found.
package struct PrometheusServer: Sendable {
    package static let program = "/usr/bin/prometheus"
    package static let promtool = "/usr/bin/promtool"

    private let port: Int
    private let log: String

    /// Runs it until the work is done.
    /// - Parameters:
    ///   - target: `HOST:PORT`, and what stands in the configuration beside it, such as `metrics_path`, in lines of
    ///     YAML without indentation.
    package static func scraping(
        _ target: String, _ settings: [String], _ work: (PrometheusServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        let port = try FreePorts.one()
        let lines = ["job_name: ws1-devices", "scrape_interval: 1s", "static_configs: [{ targets: [\"\(target)\"] }]"]
        let job = (lines + settings).map { "    \($0)\n" }.joined()
        try Data("scrape_configs:\n  -\n\(job)".utf8).write(to: URL(fileURLWithPath: folder.file("prometheus.yml")))
        let log = folder.file("log")
        let process = try SpawnedProcess.start(
            [
                program, "--config.file=\(folder.file("prometheus.yml"))", "--storage.tsdb.path=\(folder.file("data"))",
                "--web.listen-address=127.0.0.1:\(port)",
            ], streams: [.null, .appended(toFile: log), .appended(toFile: log)])
        let result: Result<Void, any Error>
        do { result = .success(try await work(PrometheusServer(port: port, log: log))) } catch {
            result = .failure(error)
        }
        kill(process, SIGKILL)
        _ = await BlockingCall.run { SpawnedProcess.waitForEnd(of: process) }
        try result.get()
    }

    private struct Answer: Decodable {
        struct Found: Decodable {
            let result: [Series]
        }
        struct Series: Decodable {
            /// The time in seconds, and the value as text.
            let value: [Value]
        }
        struct Value: Decodable {
            let text: String?

            init(from decoder: any Decoder) throws {
                text = try? decoder.singleValueContainer().decode(String.self)
            }
        }
        let data: Found
    }

    package struct NotReached: Error, CustomStringConvertible {
        package let description: String
    }

    /// Asks until the values of a query's series are as wanted.
    /// - Throws: `NotReached` with what was found last, after a minute.
    package func until(_ query: String, _ isReached: ([String]) -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(60)
        var found: [String] = []
        while ContinuousClock.now < end {
            let run = try await ProgramRun.of(
                ["-sS", "--get", "--data-urlencode", "query=\(query)", "http://127.0.0.1:\(port)/api/v1/query"],
                program: URL(fileURLWithPath: "/usr/bin/curl"))
            if run.status == 0, let answer = try? JSONDecoder().decode(Answer.self, from: run.output) {
                found = answer.data.result.compactMap { $0.value.compactMap(\.text).first }
                if isReached(found) { return }
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        let lines = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw NotReached(description: "\(query) stays \(found); prometheus: \(lines.suffix(2000))")
    }
}
