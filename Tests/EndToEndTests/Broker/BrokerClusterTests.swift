import Foundation
import MosquittoTestKit
import NIOHTTP1
import Testing

/// Collectors of a cluster at one broker, which deals the devices' requests to them.
@Suite(.timeLimit(.minutes(5))) struct BrokerClusterTests {
    @Test func `Two collectors share a device, and kills lose nothing`() async throws {
        var dice = SeededGenerator.announced(for: "BrokerClusterTests")
        let broker = try await MosquittoBroker.start(try BrokerScene.options())
        let address = "mqtt://127.0.0.1:\(broker.port)/\(BrokerScene.prefix)"
        let arguments = try ["--mqtt-broker", address] + BrokerScene.credentials("collector", broker)
        try await ClusterDeployment.run { cluster in
            for place in 0...1 { try await cluster.start(place, arguments) }
            let agent = try cluster.startAgent(
                try ["--collector", address] + BrokerScene.credentials("kiosk", broker))
            do {
                // Neither has restarted yet, so both have counted what they answered.
                try await cluster.until("both collectors have answered the device") {
                    for place in 0...1 {
                        let metrics = try await cluster.send(.GET, "/metrics", to: place).body
                        let answers = String(decoding: metrics, as: UTF8.self).split(separator: "\n").first {
                            $0.hasPrefix(#"ws1_mqtt_answers_total{fate="published"} "#)
                        }
                        guard let answers, !answers.hasSuffix(" 0") else { return false }
                    }
                    return true
                }
                for round in 0..<4 {
                    try await cluster.record("round.\(round)")
                    let life = Duration.milliseconds(Int.random(in: 0...800, using: &dice))
                    #expect(await agent.ending(within: life) == nil)
                    let victim = Int.random(in: 0...1, using: &dice)
                    await cluster.kill(victim)
                    try await cluster.start(victim, arguments)
                }
                try await cluster.until("everything is sent", within: .seconds(180)) {
                    let events = try await cluster.succeed(["export", "--stream", "event"])
                    return (0..<4).allSatisfy { events.contains("\"round.\($0)\"") }
                }
                try await cluster.stop(agent: agent)
            } catch {
                await agent.killAndReap()
                throw error
            }
            let events = try await cluster.succeed(["export", "--stream", "event"])
            for round in 0..<4 {
                #expect(events.components(separatedBy: "\"round.\(round)\"").count == 2, "round \(round) once")
            }
            try await cluster.succeed(["balance"])
            try await cluster.succeed(["verify"])
        }
    }
}
