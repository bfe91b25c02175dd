import Foundation
import Glibc
import Testing

/// A collector's data directory moves into a cluster, as an operator does it.
@Suite(.timeLimit(.minutes(5))) struct MoveTests {
    /// The move is killed between each two of its steps, and run again. The agent notices nothing.
    @Test func `A killed move goes on, and the agent sends on`() async throws {
        try await ClusterDeployment.run { cluster in
            let source = cluster.directory + "/collector-0"
            try await cluster.startAlone()
            let agent = try cluster.startAgent(port: cluster.ports[0])
            do {
                for round in 0..<3 { try await cluster.record("before.\(round)") }
                try await cluster.until("the events are stored") {
                    try await Program.collector.run(
                        ["export", "--stream", "event", "--data", source], environment: [:]
                    )
                    .output.contains("\"before.2\"")
                }
                try await cluster.stop(0)
                let move = ["move", "--from", source, "--to", "cluster"]
                let plan = try await cluster.succeed(move + ["--dry-run"])
                #expect(plan.contains("record files") && plan.hasSuffix("Nothing was done.\n"))
                for failpoint in ["claimed", "inserted", "moved", "claimed:2"] {
                    let outcome = try await cluster.run(move, failpoint: failpoint)
                    #expect(outcome.ending == .killed(signal: SIGKILL), "\(failpoint): \(outcome)")
                    let refused = try await cluster.run(["serve", "--listen", "127.0.0.1:0"])
                    #expect(!refused.succeeded && refused.errors.contains("its move has not ended"), "\(refused)")
                }
                // The directory accepts records until its move has ended.
                try await cluster.startAlone()
                try await cluster.record("between")
                try await cluster.until("the event is stored") {
                    try await Program.collector.run(
                        ["export", "--stream", "event", "--data", source], environment: [:]
                    )
                    .output.contains("\"between\"")
                }
                try await cluster.stop(0)
                let moved = try await cluster.succeed(move)
                #expect(moved.contains("the cluster is open to collectors"), "\(moved)")
                let alone = try await Program.collector.run(
                    ["serve", "--data", source, "--listen", "127.0.0.1:0"], environment: [:])
                #expect(!alone.succeeded && alone.errors.contains("was moved to the cluster"), "\(alone)")
                // The same address and the same directory for what a collector keeps beside the cluster.
                try await cluster.start(0)
                try await cluster.record("after")
                try await cluster.stop(agent: agent)
            } catch {
                await agent.killAndReap()
                throw error
            }
            let events = try await cluster.succeed(["export", "--stream", "event"])
            for name in ["before.0", "before.1", "before.2", "between", "after"] {
                #expect(events.components(separatedBy: "\"\(name)\"").count == 2, "\(name) once")
            }
            try await cluster.succeed(["balance"])
            try await cluster.succeed(["verify"])
            try await cluster.until("the tables for people have what was moved") {
                try await cluster.peopleRows(named: "before.0") == 1
            }
        }
    }
}
