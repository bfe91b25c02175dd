import Foundation
import SQLite
import Testing

/// kill -9 at steps of what changes a directory's encryption. The next start goes on; nothing is lost or doubled.
///
/// About one step of 24 is drawn. With `WS1_KILL_STEPS=all` the agent dies at each step once, which takes an hour.
@Suite(.serialized, .timeLimit(.minutes(30)))
struct EncryptionKillTests {
    /// More than any operation has.
    private static let mostSteps = 400
    private static let isEveryStep = ProcessInfo.processInfo.environment["WS1_KILL_STEPS"] == "all"
    private static let longestStride = 48

    private static let plain = ["--device-key", "none"]
    private static let sealed = ["--device-key", "file"]
    private static let passcode = ["--device-key", "passcode"]

    /// A deployment whose agent can be killed at a step.
    private final class Scene {
        let deployment: Deployment
        let steps: KillSteps
        let clock: FakeClock
        /// Events that the agent has promised, and those of which nobody knows.
        var acknowledged: Set<String> = []
        var attempted: Set<String> = []

        init(_ deployment: Deployment) throws {
            self.deployment = deployment
            steps = try KillSteps(under: deployment.agentData, file: deployment.directory + "/steps")
            clock = try FakeClock(directory: deployment.directory)
        }

        func startAgent(_ arguments: [String]) throws {
            try deployment.startAgent(arguments, environment: steps.environment(clock: clock))
        }

        /// Starts the agent, which may die of it; otherwise it answers.
        func startAgentThatMayDie(_ arguments: [String]) async throws {
            try startAgent(arguments)
            try await untilKilled { try await self.answers() }
        }

        func restart(_ arguments: [String]) async throws {
            try startAgent(arguments)
            try await deployment.waitUntilAgentAnswers()
        }

        func answers() async throws -> Bool {
            try await Program.agent.run(["push-token", "--clear", "--data", deployment.agentData]).succeeded
        }

        /// Returns when `condition` holds or the agent was killed.
        func untilKilled(_ condition: () async throws -> Bool) async throws {
            try await deployment.until("the agent is killed, or is done") {
                if steps.struck != nil { return true }
                if let ending = await deployment.agent?.ending(within: .milliseconds(10)) {
                    guard steps.struck != nil else { throw EndToEndError("the agent ended with \(ending) by itself") }
                    return true
                }
                return try await condition()
            }
        }

        /// Records an event. Only a running agent that was not killed must accept it.
        func record(_ name: String, mayFail: Bool = false) async throws {
            let outcome = try await deployment.record(event: name, value: 1)
            if outcome.succeeded {
                acknowledged.insert(name)
            } else {
                attempted.insert(name)
                #expect(mayFail, "\(outcome)")
            }
        }

        func ask(_ arguments: [String], input: String? = nil) async throws -> Program.Outcome {
            let wrapper = input.map { ["/bin/sh", "-c", "printf '\($0)\\n' | \"$@\"", "sh"] } ?? []
            return try await Program.agent.run(arguments + ["--data", deployment.agentData], under: wrapper)
        }
    }

    /// Kills the agent before steps of an operation, each later than the last, until the operation ends with the agent
    /// alive.
    ///
    /// - Parameters:
    ///   - prepare: brings the agent to where the operation begins.
    ///   - operation: returns when it is done or the agent is dead.
    ///   - recover: goes on after it, also where nothing was killed. The agent is dead if the flag says so.
    /// - Returns: the steps.
    private func killAtEveryStep(
        of name: String, _ scene: Scene, prepare: (Int) async throws -> Void, _ operation: (Int) async throws -> Void,
        recover: (Int, _ isKilled: Bool) async throws -> Void
    ) async throws -> [String] {
        var struck: [String] = []
        var dice = SeededGenerator.announced(for: "EncryptionKillTests")
        var number = 0
        while number < Self.mostSteps {
            number += Self.isEveryStep ? 1 : Int.random(in: 1...Self.longestStride, using: &dice)
            try await prepare(number)
            scene.steps.arm(number)
            try await operation(number)
            scene.steps.disarm()
            let step = scene.steps.struck
            if let step {
                struck.append(step)
                let ending = await scene.deployment.agent?.ending(within: .seconds(30))
                #expect(ending == .killed(signal: SIGKILL), "\(name), step \(number), \(step)")
            }
            do { try await recover(number, step != nil) } catch {
                throw EndToEndError("\(name), after the kill before step \(number), \(step ?? "none"): \(error)")
            }
            guard step != nil else {
                print("EncryptionKillTests: \(name): killed at \(struck.count) steps up to \(number)")
                return struck
            }
        }
        throw EndToEndError("\(name) has more than \(Self.mostSteps) steps")
    }

    /// Only a run of every step is sure to have one of a file. Which step of it is left to chance: threads take turns.
    private static func expect(_ steps: [String], haveOne isWanted: (String) -> Bool) {
        #expect(!isEveryStep || steps.contains(where: isWanted), "\(steps)")
    }

    private func play(_ body: (Scene) async throws -> Void) async throws {
        try await Deployment.run { deployment in
            let scene = try Scene(deployment)
            try await deployment.startCollector()
            try await body(scene)
        }
    }

    // MARK: - On and off

    @Test func `A start that switches encryption on or off may be killed anywhere`() async throws {
        try await play { scene in
            try await scene.restart(Self.plain)
            try await scene.record("before")
            for (name, from, to) in [("on", Self.plain, Self.sealed), ("off", Self.sealed, Self.plain)] {
                let steps = try await killAtEveryStep(of: "a start that switches \(name)", scene) { _ in
                    await scene.deployment.agent?.killAndReap()
                    try await scene.restart(from)
                    await scene.deployment.agent?.killAndReap()
                } _: { _ in
                    try await scene.startAgentThatMayDie(to)
                } recover: { number, isKilled in
                    if isKilled { try await scene.restart(to) }
                    try await scene.record("\(name).\(number)")
                    try Self.expectState(sealed: name == "on", in: scene.deployment.agentData)
                }
                Self.expect(steps) { $0.contains(" identity") }
                Self.expect(steps) { $0.contains("encryption.json") }
            }
            try await scene.deployment.expectExactlyOnce(
                acknowledged: scene.acknowledged, attempted: scene.attempted)
        }
    }

    /// Holds the form of the state files against what is wanted.
    private static func expectState(sealed: Bool, in directory: String) throws {
        for name in ["identity", "profile.json"] {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
            #expect(bytes.starts(with: Data("WS1S".utf8)) == sealed, "\(name) \(bytes.prefix(8).map { $0 })")
        }
    }

    @Test func `The conversion of waiting records may be killed anywhere`() async throws {
        try await play { scene in
            try await scene.restart(Self.plain)
            let deployment = scene.deployment
            try await deployment.stopCollector()
            for number in 1...5 { try await scene.record("before.\(number)") }
            for (name, from, to) in [("on", Self.plain, Self.sealed), ("off", Self.sealed, Self.plain)] {
                func convert() async throws {
                    scene.steps.advanceTimers(seconds: 61)
                    try await scene.untilKilled { try Self.form(in: deployment.agentData) == (name == "on" ? 1 : 0) }
                }
                let steps = try await killAtEveryStep(of: "a conversion of records, \(name)", scene) { number in
                    await deployment.agent?.killAndReap()
                    if try Self.form(in: deployment.agentData) == (name == "on" ? 1 : 0) {
                        try await scene.restart(from)
                        scene.steps.advanceTimers(seconds: 61)
                        try await deployment.until("the former form is back", while: deployment.agent) {
                            try Self.form(in: deployment.agentData) == (name == "on" ? 0 : 1)
                        }
                        await deployment.agent?.killAndReap()
                    }
                    try await scene.restart(to)
                } _: { _ in
                    try await convert()
                } recover: { number, isKilled in
                    if isKilled {
                        try await scene.restart(to)
                        try await scene.record("\(name).\(number)")
                    }
                    try await convert()
                    #expect(scene.steps.struck == nil || isKilled)
                }
                Self.expect(steps) { $0.hasPrefix("fdatasync") || $0.hasPrefix("fsync") }
            }
            try await deployment.startCollector()
            try await deployment.expectExactlyOnce(acknowledged: scene.acknowledged, attempted: scene.attempted)
        }
    }

    /// The form of the records in a queue that an agent may have open; `nil` if the copy that is looked at was taken in
    /// the middle of a change.
    private static func form(in directory: String) throws -> Int? {
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-form-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        do {
            for name in ["queue.sqlite", "queue.sqlite-wal"] {
                // `copyItem` never ends if the file becomes shorter meanwhile.
                try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
                    .write(to: URL(fileURLWithPath: "\(copy)/\(name)"))
            }
            let file = try Connection(path: "\(copy)/queue.sqlite", options: Connection.Options(mode: .readWrite))
            let row = try file.prepare("SELECT content FROM file_copy WHERE id = 100")
            return try row.step() ? row.data(0).first.map(Int.init) : 0
        } catch is SQLiteError {
            return nil
        }
    }

    // MARK: - Keys

    @Test func `A new data key may be interrupted anywhere`() async throws {
        try await play { scene in
            try await scene.restart(Self.sealed)
            let keys = scene.deployment.agentData + "/keys"
            var (days, former) = (0, Data())
            let steps = try await killAtEveryStep(of: "a new data key", scene) { number in
                try await scene.record("before.\(number)")
                former = try Data(contentsOf: URL(fileURLWithPath: keys))
                days += 91
                scene.clock.set(offsetSeconds: days * 86_400)
            } _: { number in
                try await scene.record("new.\(number)", mayFail: true)
                _ = try await scene.ask(["log", "error", "line \(number)"])
                _ = try await scene.ask(["push-token", "token-\(number)"])
            } recover: { number, isKilled in
                if isKilled { try await scene.restart(Self.sealed) }
                try await scene.record("after.\(number)")
                let now = try Data(contentsOf: URL(fileURLWithPath: keys))
                #expect(now != former, "no key was replaced")
            }
            Self.expect(steps) { $0.contains(" keys") }
            try await scene.deployment.expectExactlyOnce(
                acknowledged: scene.acknowledged, attempted: scene.attempted)
        }
    }

    @Test func `A passcode may be set, given and left again with a kill anywhere`() async throws {
        try await play { scene in
            try await scene.restart(Self.sealed)
            let deployment = scene.deployment
            func unlock() async throws {
                try await deployment.until("the agent takes the passcode", while: deployment.agent) {
                    try await scene.ask(["passcode"], input: "open sesame").succeeded
                }
                try await deployment.waitUntilAgentAnswers()
            }
            /// The agent runs without a passcode, and holds the device key in its file. It takes the passcode once more
            /// where the keys still have it.
            func leave() async throws {
                await deployment.agent?.killAndReap()
                try scene.startAgent(Self.sealed)
                try await deployment.until("the agent takes the passcode, or needs none", while: deployment.agent) {
                    let outcome = try await scene.ask(["passcode"], input: "open sesame")
                    return outcome.succeeded || outcome.errors.contains("the keys have no passcode")
                }
                try await deployment.waitUntilAgentAnswers()
            }
            let steps = try await killAtEveryStep(of: "a passcode", scene) { number in
                try await leave()
                try await scene.record("file.\(number)")
                await deployment.agent?.killAndReap()
                try scene.startAgent(Self.passcode)
                try await deployment.until("the agent answers", while: deployment.agent) {
                    try await scene.ask(["status"]).succeeded
                }
            } _: { _ in
                try await scene.untilKilled { try await scene.ask(["passcode"], input: "open sesame").succeeded }
            } recover: { number, isKilled in
                if isKilled { try scene.startAgent(Self.passcode) }
                try await unlock()
                try await scene.record("passcode.\(number)")
            }
            Self.expect(steps) { $0.contains(" keys") }
            try await deployment.expectExactlyOnce(acknowledged: scene.acknowledged, attempted: scene.attempted)
        }
    }

    // MARK: - Wipe

    @Test func `A wipe may be killed anywhere, and goes on`() async throws {
        try await play { scene in
            try await scene.restart(Self.sealed)
            let deployment = scene.deployment
            let steps = try await killAtEveryStep(of: "a wipe", scene) { number in
                try await scene.record("before.\(number)")
                try await deployment.waitUntilSent()
            } _: { _ in
                let outcome = try await scene.ask(["wipe", "--yes"])
                #expect(outcome.succeeded || scene.steps.struck != nil, "\(outcome)")
            } recover: { number, isKilled in
                if isKilled { try await scene.restart(Self.sealed) }
                try await deployment.until("the wipe is over", while: deployment.agent) {
                    !FileManager.default.fileExists(atPath: deployment.agentData + "/wipe.json")
                }
                try await deployment.waitUntilAgentAnswers()
            }
            Self.expect(steps) { $0.contains(" device.key") }
            Self.expect(steps) { $0.contains(" keys") }
            try await deployment.expectExactlyOnce(
                acknowledged: scene.acknowledged, droppedOnlyFor: ["wiped", "moved"])
        }
    }
}
