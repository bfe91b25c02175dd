import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import Testing
import WireModel

/// Power cuts at any write of an agent. The agent runs once and every change to its files is recorded. Then the files
/// are made as each cut may leave them, and the queue is opened there.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct PowerCutTests {
    enum Script: String, CaseIterable, CustomTestStringConvertible {
        case killedAndStartedAgain, wiped

        var testDescription: String { rawValue }
    }

    /// Where many files are made and none has to outlive anything.
    private static let scratch =
        FileManager.default.isWritableFile(atPath: "/dev/shm")
        ? "/dev/shm" : FileManager.default.temporaryDirectory.path

    @Test(arguments: Script.allCases)
    func `No power cut looks like damage to the queue, and none takes an event that was promised`(_ script: Script)
        async throws
    {
        try await Deployment.run { deployment in
            let recording = DiskRecording(of: deployment.agentData, in: deployment.directory + "/changes")
            let promises = try await run(script, deployment, recording)
            let directory = "\(Self.scratch)/power-cut-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let changes = try recording.changes()
            var disk = CutDisk()
            var seen: Set<Int> = []
            var epochs: [String] = []
            for (index, change) in changes.enumerated() {
                disk.apply(change)
                // Allocating needs thousands of writes of one byte; a cut between two of them shows nothing new.
                if change.isAllocation, index + 1 < changes.count, changes[index + 1].isAllocation { continue }
                guard change.name.isEmpty || change.name.hasPrefix("queue.") else { continue }
                let promised = promises.last { $0.end < change.end - change.data.count }?.events ?? 0
                for image in disk.images(where: { $0.hasPrefix("queue.") }) {
                    guard !image.files.isEmpty, seen.insert(image.files.hashValue).inserted else { continue }
                    try? FileManager.default.removeItem(atPath: directory)
                    try image.save(to: directory)
                    let what = "cut at change \(index), \(change.kind) of \(change.name), left: \(image.description)"
                    let queue = try open(directory)
                    #expect(try await queue.status().replacements == 0, "\(what)")
                    let balance = try await queue.balance()
                    #expect(balance.values.allSatisfy { $0.closes }, "\(what): \(balance)")
                    #expect(balance[.event]?.produced ?? 0 >= promised, "\(what): \(promised) events were promised")
                    if promised > 0, epochs.last != "\(queue.epoch)" { epochs.append("\(queue.epoch)") }
                    await queue.close()
                }
            }
            #expect(seen.count > 200, "the agent's writes were not noted")
            #expect(Set(epochs).count == (script == .wiped ? 2 : 1), "an epoch ended without need: \(epochs)")
        }
    }

    private func open(_ directory: String) throws -> RecordQueue {
        var configuration = RecordQueue.Configuration()
        configuration.keepFreeBytes = 0
        configuration.keepFreeInodesPercent = 0
        return try RecordQueue.open(
            directory: directory, configuration: configuration, clock: ManualRecordClock(),
            logger: Logger(label: "power-cut") { _ in SwiftLogNoOpLogHandler() })
    }

    /// - Returns: how many events were promised when, ascending.
    private func run(
        _ script: Script, _ deployment: Deployment, _ recording: DiskRecording
    ) async throws -> [(events: UInt64, end: Int)] {
        var promises: [(events: UInt64, end: Int)] = []
        let socket = deployment.agentData + "/control.sock"
        func start() async throws {
            try deployment.startAgent(environment: try recording.environment)
            // Before the agent holds the queue, a command would open it, and what that writes is not recorded.
            try await deployment.until("the agent listens", while: deployment.agent) {
                FileManager.default.fileExists(atPath: socket)
            }
            try await deployment.waitUntilAgentAnswers()
        }
        func promise() async throws {
            for _ in 1...2 {
                _ = try await deployment.record(events: 1, prefix: "promised")
                promises.append(((promises.last?.events ?? 0) + 1, recording.end))
            }
        }
        try await deployment.startCollector()
        try await start()
        try await promise()
        switch script {
        case .killedAndStartedAgain:
            try #require(deployment.agent).send(signal: SIGKILL)
            _ = await deployment.agent?.ending(within: .seconds(20))
            try FileManager.default.removeItem(atPath: socket)
            try await start()
            try await promise()
        case .wiped:
            let device = try await deployment.deviceID()
            let wipe = try await deployment.issue(#"{"kind": "wipe"}"#, to: device)
            #expect(try await deployment.end(of: wipe, device: device).state == "done")
            try await promise()
        }
        try await deployment.stopAgent()
        return promises
    }
}
