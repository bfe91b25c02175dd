import FleetSimulator
import Testing

/// The fleet over a real server, store and sockets; its seconds go by as fast as the collector answers.
@Suite("A simulated fleet")
struct FleetRunTests {
    private static func plan(devices: Int, seconds: Int, seed: UInt64) -> FleetPlan {
        var plan = FleetPlan(devices: devices, seconds: seconds)
        plan.seed = seed
        plan.speed = 0
        plan.concurrency = 8
        plan.partRecords = 5
        return plan
    }

    @Test func `Everything acknowledged is there once, whatever goes wrong`() async throws {
        let report = try await FleetScene.run(Self.plan(devices: 50, seconds: 150, seed: 7))
        #expect(report.isRight, "\(report)")
        #expect(report.enrolled == 50 && report.oracle.devices == 50)
        #expect(report.acknowledged > 1000 && report.oracle.found >= report.acknowledged)
        // Every fault that a request can have did happen, and what follows from it.
        #expect(
            Set(report.counts.faults.keys).union(["clock-jump"]) == Set(FleetFault.allCases.map(\.rawValue)),
            "\(report.counts)")
        #expect(report.counts.closedEpochs > 0)
        #expect((report.counts.answers["401"] ?? 0) > 0 && (report.counts.outcomes["damaged"] ?? 0) > 0)
    }

    @Test func `Without faults, every record is sent once`() async throws {
        var plan = Self.plan(devices: 10, seconds: 40, seed: 3)
        plan.faults = []
        plan.hasOutage = false
        let report = try await FleetScene.run(plan)
        #expect(report.isRight, "\(report)")
        #expect(report.counts.recordsSent == report.produced && report.oracle.found == report.produced)
        #expect(report.counts.faults.isEmpty && report.counts.closedEpochs == 0)
    }

    @Test func `One seed used twice at one collector gives two fleets`() async throws {
        var plan = Self.plan(devices: 5, seconds: 30, seed: 3)
        plan.run = 1
        var again = plan
        again.run = 2
        let reports = try await FleetScene.run([plan, again])
        #expect(reports.allSatisfy { $0.isRight && $0.enrolled == 5 }, "\(reports)")
    }

    @Test func `A collector that is not there is reported before anything is made`() async throws {
        let transport = HTTPFleetTransport(collector: "http://127.0.0.1:1", connections: 1)
        let fleet = FleetRun(
            Self.plan(devices: 1, seconds: 1, seed: 1), transport: transport, enrollmentToken: "e", personToken: "p",
            start: 0)
        let unready = await #expect(throws: FleetUnready.self) { try await fleet.check() }
        #expect(unready == .unreachable)
        await transport.shutdown()
    }

    @Test(arguments: TamperedStore.Tampering.allCases)
    func `The oracle sees one record that is not right`(tampering: TamperedStore.Tampering) async throws {
        var plan = Self.plan(devices: 4, seconds: 40, seed: 5)
        plan.faults = []
        let report = try await FleetScene.run(plan) { TamperedStore($0, tampering) }
        #expect(!report.isRight)
        switch tampering {
        case .loses: #expect(report.oracle.lost == 1 && report.oracle.doubled == 0, "\(report.oracle)")
        case .doubles: #expect(report.oracle.doubled == 1 && report.oracle.lost == 0, "\(report.oracle)")
        case .altersTheTime: #expect(report.oracle.foreign == 1 && report.oracle.lost == 0, "\(report.oracle)")
        }
        #expect(!report.oracle.details.isEmpty)
    }

    @Test func `The same plan makes the same records`() async throws {
        var plan = Self.plan(devices: 5, seconds: 30, seed: 11)
        plan.faults = [.clockJump]
        let first = try await FleetScene.run(plan)
        let second = try await FleetScene.run(plan)
        #expect(first.isRight && second.isRight)
        #expect(first.produced == second.produced && first.counts.recordsSent == second.counts.recordsSent)
    }
}
