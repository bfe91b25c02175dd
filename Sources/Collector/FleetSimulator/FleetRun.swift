import FoundationEssentials
import WireModel

/// Runs a fleet against a collector: simulates its seconds, lets everything arrive, and asks the oracle.
package struct FleetRun {
    private let plan: FleetPlan
    private let transport: any FleetTransport
    private let enrollmentToken: String
    private let oracle: FleetOracle
    private let start: Int64
    private var devices: [SimulatedDevice]
    private var report: FleetReport
    private var latencies: [Double] = []

    /// The most latencies kept for the percentiles.
    private static let maximumLatencies = 1_000_000
    /// The most rounds without faults in which the remaining records must arrive.
    private static let finalRounds = 200

    /// - Parameters:
    ///   - personToken: the oracle asks with it; a viewer's token is enough.
    ///   - start: the true time in microseconds since 1970.
    package init(
        _ plan: FleetPlan, transport: any FleetTransport, enrollmentToken: String, personToken: String, start: Int64
    ) {
        self.plan = plan
        self.transport = transport
        self.enrollmentToken = enrollmentToken
        self.start = start
        oracle = FleetOracle(transport: transport, token: personToken)
        devices = (0..<plan.devices).map { SimulatedDevice($0, plan: plan) }
        report = FleetReport(devices: plan.devices, seconds: plan.seconds, seed: plan.seed)
    }

    /// Checks that the collector answers and accepts both tokens, before anything is made.
    package func check() async throws(FleetUnready) {
        func ask(_ request: FleetRequest, _ token: FleetUnready.Token) async throws(FleetUnready) {
            guard let answer = await transport.send(request) else { throw .unreachable }
            guard answer.status != 401, answer.status != 403 else { throw .refused(token, status: answer.status) }
        }
        try await ask(FleetRequest(path: "/api/v1/devices?limit=1", bearer: oracle.token), .person)
        // The collector checks the token before the body, so a body that is no message is enough.
        try await ask(
            FleetRequest(method: "POST", path: WireNames.enrollPath, bearer: enrollmentToken, body: Data([0xFF])),
            .enrollment)
    }

    /// - Throws: only if cancelled.
    package mutating func run() async throws -> FleetReport {
        let clock = ContinuousClock()
        let began = clock.now
        for second in 0..<plan.seconds {
            if plan.speed > 0 {
                try await clock.sleep(until: began.advanced(by: .milliseconds(Int(Double(second) / plan.speed * 1000))))
            }
            try Task.checkCancellation()
            for index in devices.indices { devices[index].live(second: second, start: start) }
            await transmit(devices.indices.filter { devices[$0].isDue(at: second) })
        }
        try await settle()
        let elapsed = began.duration(to: clock.now)
        report.elapsedSeconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        latencies.sort()
        report.latencyMillisecondsP50 = percentile(50)
        report.latencyMillisecondsP99 = percentile(99)
        for device in devices {
            report.produced += device.produced
            report.acknowledged += device.ledger.acknowledged
            if device.id != nil { report.enrolled += 1 }
        }
        try await ask()
        return report
    }

    private func percentile(_ percent: Int) -> Double? {
        latencies.isEmpty ? nil : latencies[max(0, (latencies.count * percent + 99) / 100 - 1)] * 1000
    }

    /// Sends without faults until nothing waits.
    private mutating func settle() async throws {
        for index in devices.indices { devices[index].calm() }
        for round in 0..<Self.finalRounds {
            let waiting = devices.indices.filter { devices[$0].isWaiting || devices[$0].ghost != nil }
            if waiting.isEmpty { break }
            // Gives a collector that refuses some time.
            if round > 3, plan.speed > 0 { try await Task.sleep(for: .milliseconds(100)) }
            await transmit(waiting)
        }
        for device in devices {
            let waiting = device.disk.streams.values.reduce(0) { $0 + $1.held.count }
            guard waiting > 0 else { continue }
            report.oracle.waiting += waiting
            report.oracle.detail("waiting: \(waiting) records of device \(device.index)")
        }
    }

    private mutating func transmit(_ due: [Int]) async {
        var rest = due[...]
        let (transport, token, records) = (transport, enrollmentToken, plan.partRecords)
        await withTaskGroup(of: (Int, DeviceSession).self) { group in
            func begin(_ index: Int) {
                let device = devices[index]
                group.addTask {
                    var session = DeviceSession(
                        transport: transport, enrollmentToken: token, partRecords: records, device: device)
                    await session.transmit()
                    return (index, session)
                }
            }
            for _ in 0..<plan.concurrency { if let index = rest.popFirst() { begin(index) } }
            for await (index, session) in group {
                devices[index] = session.device
                report.counts.add(session.counts)
                if latencies.count < Self.maximumLatencies { latencies += session.latencies }
                if let next = rest.popFirst() { begin(next) }
            }
        }
    }

    private mutating func ask() async throws {
        var rest = devices[...]
        let oracle = oracle
        await withTaskGroup(of: Result<FleetReport.Oracle, any Error>.self) { group in
            func begin(_ device: SimulatedDevice) {
                group.addTask {
                    do { return .success(try await oracle.check(device)) } catch { return .failure(error) }
                }
            }
            for _ in 0..<min(plan.concurrency, 16) { if let device = rest.popFirst() { begin(device) } }
            for await result in group {
                switch result {
                case .success(let findings): report.oracle.add(findings)
                case .failure(let error):
                    report.oracle.unanswered += 1
                    report.oracle.detail("\(error)")
                }
                if let device = rest.popFirst() { begin(device) }
            }
        }
        try Task.checkCancellation()
    }
}

/// Why a fleet cannot start.
package enum FleetUnready: Error, Equatable {
    package enum Token: Sendable {
        case person
        case enrollment
    }

    /// No answer came.
    case unreachable
    case refused(Token, status: Int)
}
