import ArgumentParser
import Foundation

struct ClusterReadsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster-reads",
        abstract: "Milliseconds of what is asked of a cluster's collector with a fleet in it.",
        discussion: """
            Start the cluster with `Tools/run-cluster --release --agents 0 --data DIR`. --fleet devices enroll and \
            send a beacon and a sample each. Then --devices of them send a day of samples, one a minute and five to a \
            part. Each answer is measured from the request to its last byte, over a keep-alive connection of loopback. \
            A cluster that has the fleet already may be measured again with --fleet 0.
            """)

    @OptionGroup var options: MeasurementOptions
    @Option(help: "The directory of the cluster, as Tools/run-cluster has it.")
    var data: String
    @Option(help: "Devices to enroll.")
    var fleet = 100_000
    @Option(help: "Devices that send a day of samples.")
    var devices = 128

    /// Over which the fleet enrolls. A batch waits for an insert that many of them share.
    private static let connections = 128
    private static let minutesOfDay = 1440

    func validate() throws {
        guard (0...1_000_000).contains(fleet) else {
            throw ValidationError("--fleet \(fleet): a number from 0 to 1000000 is needed")
        }
        guard (1...1000).contains(devices) else {
            throw ValidationError("--devices \(devices): a number from 1 to 1000 is needed")
        }
    }

    func run() async throws {
        let cluster = try RunningCluster(data)
        var notes: [String] = []
        if fleet > 0 {
            let before = cluster.processorSeconds()
            let seconds = try Stopwatch.seconds {
                try ConsoleFleet.enroll(fleet, at: cluster.addresses, over: Self.connections)
            }
            let used = cluster.processorSeconds().sorted { $0.key < $1.key }.map { name, seconds in
                "\(name) \(Report.number((seconds - before[name, default: 0]) / Double(fleet) * 1e6))"
            }
            notes.append(
                """
                \(Report.number(Double(fleet) / seconds)) devices a second enroll and send their first batch over \
                \(Self.connections) connections; us of processor time for each: \(used.joined(separator: ", "))
                """)
        }
        let start = Int64((Date().timeIntervalSince1970 - 86_400) * 1_000_000)
        let name = "day-\(UInt32.random(in: 0 ... .max))"
        let day = try IngestLoad(
            cluster.addresses, records: devices * Self.minutesOfDay, recordsPerPart: 5, devices: devices, name: name,
            times: SampleTimes(first: start, interval: 60_000_000)
        ).run()
        let lag = try cluster.metric("ws1_people_tables_lag_seconds")
        notes.append(
            """
            a day of \(devices) devices: \(Report.number(day.recordsPerSecond)) records/s at 5 to a part; the tables \
            for people lag \(Report.number(lag)) s at the end
            """)

        let reader = try Reader(cluster)
        let asked = try reader.devices(named: name, limit: devices)
        let contestants = [
            Contestant("a day of a metric of a device") {
                try Self.median(asked.shuffled().prefix(20)) { device in
                    let (points, milliseconds) = try reader.day(of: device)
                    guard points > Self.minutesOfDay * 9 / 10 else {
                        throw BenchmarkError("\(points) points in a day of \(device)")
                    }
                    return milliseconds
                }
            },
            Contestant("the newest values of 1,000 devices") {
                try reader.milliseconds("/api/v1/metrics/latest?metric=system.memory.usage&limit=1000")
            },
            Contestant("the list of devices, a page of 100") {
                try Self.median(0..<5) { _ in try reader.milliseconds("/api/v1/devices?limit=100") }
            },
            Contestant("the console's page of devices") {
                try Self.median(0..<5) { _ in try reader.visitor.milliseconds("/devices") }
            },
        ]
        var comparison = try await Comparison.run(
            "cluster-reads, \(try reader.deviceCount()) devices", unit: "ms", rounds: options.rounds, contestants)
        comparison.notes = notes
        try options.report([comparison])
    }

    private static func median<Items: Sequence>(
        _ items: Items, _ measure: (Items.Element) throws -> Double
    ) throws -> Double {
        let times = try items.map(measure).sorted()
        return times[times.count / 2]
    }

    /// A person who asks the first collector.
    private struct Reader {
        let visitor: ConsoleVisitor
        private let connection: HTTPConnection
        private let token: String

        private struct Page: Decodable {
            struct Device: Decodable { var id: String }
            var items: [Device]
            var total: Int?
        }

        init(_ cluster: RunningCluster) throws {
            connection = try HTTPConnection(port: cluster.ports[0])
            token = cluster.administratorToken
            visitor = try ConsoleVisitor(port: cluster.ports[0], token: token)
        }

        private func get(_ path: String) throws -> Data {
            let answer = try connection.send(
                HTTPConnection.request("GET", path, headers: [("Authorization", "Bearer \(token)")]))
            guard answer.status == 200 else {
                throw BenchmarkError("\(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
            }
            return answer.body
        }

        /// A day of a metric, a point for each minute.
        /// - Returns: how many points its first series has, and how long the answer needed.
        func day(of device: String) throws -> (points: Int, milliseconds: Double) {
            struct Series: Decodable {
                struct One: Decodable { var values: [String: [Double?]] }
                var series: [One]
            }
            var body = Data()
            let seconds = try Stopwatch.seconds {
                body = try get(
                    "/api/v1/devices/\(device)/samples/series?metric=system.memory.usage&step=60s&aggregate=mean")
            }
            let values = try JSONDecoder().decode(Series.self, from: body).series.first?.values.values.first ?? []
            return (values.compactMap { $0 }.count, seconds * 1000)
        }

        func milliseconds(_ path: String) throws -> Double { try Stopwatch.seconds { _ = try get(path) } * 1000 }

        func devices(named text: String, limit: Int) throws -> [String] {
            let page = try JSONDecoder().decode(Page.self, from: get("/api/v1/devices?q=\(text)&limit=\(limit)"))
            guard !page.items.isEmpty else { throw BenchmarkError("no device is named \(text)") }
            return page.items.map(\.id)
        }

        func deviceCount() throws -> Int {
            try JSONDecoder().decode(Page.self, from: get("/api/v1/devices?limit=1")).total ?? 0
        }
    }
}
