import ArgumentParser
import Testing

@testable import FleetSimulator

@Suite("The command of the fleet simulator")
struct FleetSimulatorCommandTests {
    private static let needed = [
        "--collector", "http://127.0.0.1:1", "--enrollment-token-file", "/e", "--token-file", "/t",
    ]

    private func plan(_ arguments: [String]) throws -> FleetPlan {
        try FleetSimulatorCommand.parse(Self.needed + arguments).plan()
    }

    @Test func `Flags become the plan`() throws {
        let plan = try plan(
            [
                "--devices", "7", "--seconds", "9", "--seed", "3", "--speed", "0", "--faults", "rollback,damaged",
                "--no-outage",
            ])
        #expect(plan.devices == 7 && plan.seconds == 9 && plan.seed == 3 && plan.speed == 0 && !plan.hasOutage)
        #expect(plan.faults == [.rollback, .damaged])
        #expect(try self.plan([]).faults == Set(FleetFault.allCases))
        #expect(try self.plan(["--faults", "none"]).faults.isEmpty)
    }

    @Test(arguments: [
        ["--devices", "0"], ["--seconds", "86401"], ["--faults", "rain"], ["--speed", "-1"], ["--speed", "1e-16"],
        ["--concurrency", "0"], ["--sample-interval", "0"],
    ])
    func `What cannot be is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { try plan(arguments) }
    }
}
