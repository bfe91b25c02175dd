import Foundation
import Glibc
import NIOHTTP1
import PostgresTestKit
import Testing

/// Collectors side by side, as an operator runs them.
@Suite(.timeLimit(.minutes(5))) struct ClusterTests {
    /// Each request of the agent reaches the other collector, if that one is not dead now.
    @Test func `A device may reach any collector, and kills lose nothing`() async throws {
        var dice = SeededGenerator.announced(for: "ClusterTests")
        try await ClusterDeployment.run { cluster in
            try await cluster.start(0)
            try await cluster.start(1)
            try await FaultyProxy.run(upstreamPorts: cluster.ports) { proxy in
                let agent = try cluster.startAgent(port: proxy.port)
                do {
                    for round in 0..<6 {
                        try await cluster.record("round.\(round)")
                        let life = Duration.milliseconds(Int.random(in: 0...800, using: &dice))
                        #expect(await agent.ending(within: life) == nil)
                        let victim = Int.random(in: 0...1, using: &dice)
                        await cluster.kill(victim)
                        try await cluster.start(victim)
                    }
                    try await cluster.stop(agent: agent)
                } catch {
                    await agent.killAndReap()
                    throw error
                }
                #expect(proxy.counters.passed > 0)
            }
            let events = try await cluster.succeed(["export", "--stream", "event"])
            let rounds = (0..<6).map { round in
                events.components(separatedBy: "\"round.\(round)\"").count - 1
            }
            #expect(rounds == Array(repeating: 1, count: 6), "each event once")
            let balance = try await cluster.run(["balance"])
            #expect(balance.succeeded, "\(balance)")
            try await cluster.succeed(["verify"])
        }
    }

    /// The collector dies between two steps of the rule. What it left undone, another one does.
    @Test(arguments: ["claimed", "inserted", "moved", "filled"])
    func `A crash between two steps neither loses nor doubles anything`(failpoint: String) async throws {
        try await ClusterDeployment.run { cluster in
            // It has the tokens, and is not reached by the agent.
            try await cluster.start(0)
            try await cluster.start(1, failpoint: "\(failpoint):3")
            try await FaultyProxy.run(upstreamPorts: [cluster.ports[1]]) { proxy in
                let agent = try cluster.startAgent(port: proxy.port)
                do {
                    for round in 0..<3 { try await cluster.record("round.\(round)") }
                    // The other collector may be the one that fills the tables.
                    if failpoint == "filled" { await cluster.kill(0) }
                    let ending = await cluster.collector(1)?.ending(within: .seconds(60))
                    #expect(ending == .killed(signal: SIGKILL), "the failpoint was not reached")
                    try await cluster.start(1)
                    try await cluster.record("last")
                    try await cluster.stop(agent: agent)
                } catch {
                    await agent.killAndReap()
                    throw error
                }
            }
            let events = try await cluster.succeed(["export", "--stream", "event"])
            for name in ["round.0", "round.1", "round.2", "last"] {
                #expect(events.components(separatedBy: "\"\(name)\"").count == 2, "\(name) once")
            }
            try await cluster.succeed(["balance"])
            try await cluster.succeed(["verify"])
            try await cluster.until("the tables for people are full") {
                try await cluster.peopleRows(named: "last") == 1
            }
            #expect(try await cluster.peopleRows(named: "round.0") == 1)
        }
    }

    /// A command dies while it drops a day. The next collector that does the housekeeping ends the drop. The day is
    /// old enough, because it comes from a data directory whose collector lived then.
    @Test(arguments: ["drop-begun", "floors-copied", "floors-taken"])
    func `A crash in a drop leaves nothing uncounted`(failpoint: String) async throws {
        try await ClusterDeployment.run { cluster in
            try await cluster.startAlone(daysAgo: 5)
            let agent = try cluster.startAgent(port: cluster.ports[0])
            do {
                try await cluster.record("old")
                try await cluster.stop(agent: agent)
            } catch {
                await agent.killAndReap()
                throw error
            }
            try await cluster.stop(0)
            try await cluster.succeed(["move", "--from", cluster.directory + "/collector-0", "--to", "cluster"])

            let purge = ["purge", "--records", "--stream", "event", "--older-than", "2d", "--yes"]
            let purged = try await cluster.run(purge, failpoint: failpoint)
            #expect(purged.ending == .killed(signal: SIGKILL), "\(purged)")
            try await cluster.succeed(["balance"])
            try await cluster.succeed(["verify"])

            // The command's turn at housekeeping ends now, not after 40 s.
            _ = try await cluster.postgreSQL.sql("UPDATE housekeeping SET until = 0")
            try await cluster.start(0)
            try await cluster.until("the day is dropped") { try await cluster.rows(of: "slice_event") == 0 }
            #expect(try await !cluster.succeed(["export", "--stream", "event"]).contains("\"old\""))
            try await cluster.succeed(["balance"])
            try await cluster.succeed(["verify"])
        }
    }

    @Test func `What one collector changes counts on the other within two seconds`() async throws {
        try await ClusterDeployment.run { cluster in
            try await cluster.start(0)
            try await cluster.start(1)
            let viewer = try await cluster.succeed(["token", "create", "--role", "viewer", "--name", "dashboard"])
            for place in [0, 1] {
                #expect(try await cluster.send(.GET, "/api/v1/devices", to: place, token: viewer).status == .ok)
            }
            let profile = try await cluster.send(
                .PUT, "/api/v1/profiles/default", to: 0, body: #"{"logging": {"enabled": true}}"#)
            #expect(profile.status == .ok, "\(String(decoding: profile.body, as: UTF8.self))")
            let changed = try await cluster.send(.GET, "/api/v1/profiles/default", to: 0).body
            try await cluster.until("the other collector has the profile", within: .seconds(2)) {
                try await cluster.send(.GET, "/api/v1/profiles/default", to: 1).body == changed
            }
            let list = try await cluster.succeed(["token", "list"])
            let line = try #require(list.split(separator: "\n").first { $0.contains("dashboard") })
            try await cluster.succeed(["token", "revoke", String(line.prefix { $0 != " " })])
            for place in [0, 1] {
                try await cluster.until("the token is refused", within: .seconds(2)) {
                    try await cluster.send(.GET, "/api/v1/devices", to: place, token: viewer).status == .unauthorized
                }
            }
        }
    }

    @Test func `Each collector shows Prometheus the same newest values`() async throws {
        try await ClusterDeployment.run { cluster in
            for place in [0, 1] { try await cluster.start(place, ["--device-metrics", "all"]) }
            func shown(_ place: Int) async throws -> [Substring] {
                let answer = try await cluster.send(.GET, "/metrics/devices", to: place)
                #expect(answer.status == .ok, "\(String(decoding: answer.body, as: UTF8.self))")
                return String(decoding: answer.body, as: UTF8.self).split(separator: "\n").filter {
                    $0.contains("{device_id=")
                }
            }
            // Both have read something before the device sends, and go on from there.
            for place in [0, 1] { #expect(try await shown(place).isEmpty) }
            let agent = try cluster.startAgent(port: cluster.ports[0])
            do {
                try await cluster.until("a value is shown") { try await !shown(1).isEmpty }
                try await cluster.stop(agent: agent)
            } catch {
                await agent.killAndReap()
                throw error
            }
            let first = try await shown(0)
            let isSame = try await shown(1) == first
            #expect(isSame, "\(first.prefix(3))")
            #expect(first.contains { $0.hasPrefix("system_memory_limit_bytes{") }, "\(first.prefix(5))")
        }
    }

    @Test func `One collector does the housekeeping until it dies`() async throws {
        try await ClusterDeployment.run { cluster in
            try await cluster.start(0)
            try await cluster.start(1)
            func turns() async throws -> [Bool] {
                var turns: [Bool] = []
                for place in [0, 1] {
                    let metrics = try await cluster.send(.GET, "/metrics", to: place).body
                    let lines = String(decoding: metrics, as: UTF8.self).split(separator: "\n")
                    turns.append(lines.contains("ws1_housekeeping 1"))
                }
                return turns
            }
            try await cluster.until("a collector has the turn") { try await turns().contains(true) }
            let first = try await turns()
            let holder = try #require(first.firstIndex(of: true))
            #expect(!first[1 - holder], "both do the housekeeping")
            await cluster.kill(holder)
            try await cluster.start(holder)
            // A turn lasts 40 s, and a collector asks every 10 s.
            try await cluster.until("a collector has the turn again", within: .seconds(120)) {
                try await turns().contains(true)
            }
        }
    }

    @Test func `Commands say what is missing`() async throws {
        try await ClusterDeployment.run(isMade: false) { cluster in
            for command in [["serve"], ["validate"], ["token", "list"]] {
                let outcome = try await cluster.run(command)
                #expect(!outcome.succeeded && outcome.errors.contains("cluster init"), "\(command): \(outcome)")
            }
            let plan = try await cluster.succeed(["cluster", "init", "--dry-run"])
            #expect(plan.hasSuffix("Nothing was done.\n"))
            let made = try await cluster.succeed(["cluster", "init"])
            #expect(made.split(separator: "\n").count == plan.split(separator: "\n").count)
            #expect(try await cluster.succeed(["cluster", "init"]) == "All tables are up to date.\n")
            let valid = try await cluster.succeed(["validate"])
            #expect(valid.contains("The configuration is valid.") && !valid.contains("user=postgres"))
            let backup = try await cluster.run(["backup", "--output", cluster.directory + "/backup"])
            #expect(backup.ending == .exited(64) && backup.errors.contains("first PostgreSQL, then ClickHouse"))
            // A second start makes no other tokens.
            try await cluster.start(0)
            let token = Program.text(cluster.enrollmentToken)
            try await cluster.stop(0)
            try await cluster.start(0)
            #expect(Program.text(cluster.enrollmentToken) == token && !token.isEmpty)
            try await cluster.start(1)
            #expect(!FileManager.default.fileExists(atPath: cluster.directory + "/collector-1/enrollment-token"))
            #expect(!FileManager.default.fileExists(atPath: cluster.directory + "/collector-0/records"))
        }
    }

    /// The standby has all commits, but the collectors cannot know that.
    @Test func `After a failover, nothing is accepted until recovery`() async throws {
        let primary = try await PostgresServer.start()
        let standby = try await primary.startStandby()
        try await primary.change("synchronous_standby_names", to: "standby")
        func both(_ database: PostgresTestDatabase) -> String {
            "host=127.0.0.1,127.0.0.1 port=\(primary.port),\(standby.port) user=postgres dbname=\(database.name) "
                + "sslmode=disable target_session_attrs=read-write"
        }
        try await ClusterDeployment.run(postgreSQL: primary, connection: both) { cluster in
            try await cluster.start(0)
            try await cluster.start(1)
            let former = try await cluster.send(.GET, "/readyz", to: 0).headers["ws1-incarnation-id"]
            await primary.kill()
            try await standby.promote()
            try await cluster.until("the collectors take nothing") {
                let ready = (await cluster.isReady(0), await cluster.isReady(1))
                return !ready.0 && !ready.1
            }
            let refusal = try await cluster.run(["token", "list"])
            #expect(!refusal.succeeded && refusal.errors.contains("cluster recover"), "\(refusal)")
            let recovered = try await cluster.succeed(["cluster", "recover"])
            #expect(recovered.contains("generation 2"), "\(recovered)")
            #expect(try await cluster.succeed(["cluster", "recover"]) == "There is nothing to recover.\n")
            for place in [0, 1] {
                let ending = await cluster.collector(place)?.ending(within: .seconds(60))
                #expect(ending == .exited(75), "\(cluster.log(place).suffix(1000))")
                try await cluster.start(place)
            }
            let incarnation = try await cluster.send(.GET, "/readyz", to: 0).headers["ws1-incarnation-id"]
            #expect(!incarnation.isEmpty && incarnation != former)
        }
    }
}
