import ClickHouse
import ClusterStore
import Foundation
import Glibc
import Logging
import PostgreSQL

/// A cluster that `Tools/run-cluster` runs on this machine.
struct RunningCluster: Sendable {
    static let logger = Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() }

    let directory: String
    /// The ports of the collectors.
    let ports: [UInt16]
    let addresses: CollectorAddresses
    let administratorToken: String
    let configuration: ClusterRecordStore.Configuration

    /// - Parameter directory: what run-cluster was given as `--data`.
    init(_ directory: String) throws {
        self.directory = directory
        func text(_ name: String) throws -> String {
            let path = "\(directory)/\(name)"
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw BenchmarkError(
                    "\(path) cannot be read. Start Tools/run-cluster --release --agents 0 --data \(directory) first")
            }
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        guard let base = Int(try text("port")) else { throw BenchmarkError("\(directory)/port is no number") }
        // As `port` in Tools/cluster/servers.sh.
        ports = (1...9).filter { FileManager.default.fileExists(atPath: "\(directory)/collector-\($0).pid") }
            .map { UInt16(base + $0) }
        var clickHouse = ClickHouseConfiguration(
            urls: (1...3).map { "http://127.0.0.1:\(base + 10 + 3 * $0)" })
        clickHouse.database = "ws1"
        clickHouse.password = try text("secret")
        let postgreSQL = "host=127.0.0.1 port=\(base + 11) dbname=ws1 user=ws1 passfile=\(directory)/pgpass"
        configuration = ClusterRecordStore.Configuration(
            postgreSQL: PostgresConfiguration(connectionString: postgreSQL), clickHouse: clickHouse)
        administratorToken = try text("administrator-token")
        let words = try text("programs").split(separator: " ")
        guard let collector = words.first(where: { $0.hasPrefix("collector=") })?.dropFirst("collector=".count) else {
            throw BenchmarkError("\(directory)/programs names no collector")
        }
        let token = try MeasuredProcess.output(
            String(collector),
            ["token", "create", "--enrollment", "--unlimited", "--config", "\(directory)/collector.yaml"])
        addresses = CollectorAddresses(
            ports: ports,
            enrollmentToken: String(decoding: token, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Seconds that each kind of server has used since it started.
    func processorSeconds() -> [String: Double] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var used: [String: Double] = [:]
        for name in names where name.hasSuffix(".pid") {
            guard let text = try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8),
                let process = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines))
            else { continue }
            let kind = name.dropLast(4).split(separator: "-")[0]
            guard ["collector", "clickhouse", "postgresql", "zookeeper"].contains(kind) else { continue }
            used[String(kind), default: 0] += ProcessorTime.secondsOfFamily(of: process)
        }
        return used
    }

    /// The first number of a query's answer.
    func number(_ sql: String) async throws -> Double {
        let client = try ClickHouseClient(configuration.clickHouse, logger: Self.logger)
        do {
            var rows = try await client.query("SELECT toUInt64(ifNull(x, 0)) FROM (\(sql))", settings: [:])
            let number = rows.next() ? Double(try rows.uint64()) : 0
            await client.shutDown()
            return number
        } catch {
            await client.shutDown()
            throw error
        }
    }

    /// A number of `/metrics` of one collector.
    /// - Parameters:
    ///   - collector: its place in `ports`.
    ///   - absent: the number of a metric that nothing was counted in yet; `nil` if there must be one.
    func metric(_ name: String, of collector: Int = 0, absent: Double? = nil) throws -> Double {
        let answer = try HTTPConnection(port: ports[collector]).send(
            HTTPConnection.request(
                "GET", "/metrics", headers: [("Authorization", "Bearer \(administratorToken)")]))
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        guard
            let number = lines.first(where: { $0.hasPrefix("\(name) ") })?.split(separator: " ").last.flatMap({
                Double($0)
            }) ?? (answer.status == 200 ? absent : nil)
        else { throw BenchmarkError("/metrics (\(answer.status)) has no \(name)") }
        return number
    }

    /// Inserts of samples by all collectors since they started, and the parts in them.
    func inserts() throws -> (count: Double, parts: Double) {
        func sum(_ name: String) throws -> Double {
            try ports.indices.reduce(0) {
                try $0 + metric("ws1_store_commit_requests_\(name){stream=\"sample\"}", of: $1, absent: 0)
            }
        }
        return (try sum("count"), try sum("sum"))
    }

    /// Waits until the tables for people have everything.
    /// - Returns: the seconds of waiting.
    func peopleTablesFilled() throws -> Double {
        try Stopwatch.seconds {
            while try metric("ws1_people_tables_lag_seconds") > 0 { usleep(200_000) }
        }
    }
}
