import CommandKit
import DataSampler
import Glibc
import LogStore
import TelemetryBasics
import Testing

@testable import AgentCommands

@Suite struct FullDiskPauseTests {
    private static let full = CommandError(DataSamplerError(.queueFull, "no room on /data."))

    @Test func `A full disk is waited for, longer each time, and reported once`() async throws {
        var reported: [String] = []
        var pauses: [Int64] = []
        var attempts = 0
        let result = try await FullDiskPause.retrying(
            reported: { reported.append($0) }, sleep: { pauses.append($0.components.seconds) },
            { () async throws -> String in
                attempts += 1
                if attempts <= 9 { throw Self.full }
                return "started"
            })
        #expect(result == "started" && pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        #expect(reported == ["no room on /data. The agent waits until there is room."])
    }

    @Test(arguments: [ENOSPC, EDQUOT, EFBIG]) func `No room is waited for wherever it is met`(systemError: Int32)
        async throws
    {
        let file = FileError("making", "/data/control.sock", systemError)
        let store = LogStoreError(file)
        let failures = [
            CommandError(.tryAgain, file.description, cause: file), CommandError(DataSamplerError(store)),
            CommandError(DataSamplerError(.queueFull, file.description, cause: file)),
        ]
        #expect(failures.allSatisfy { $0.code == .tryAgain } && CommandError(store).code == .tryAgain)
        for failure in failures {
            var attempts = 0
            try await FullDiskPause.retrying(reported: { _ in }, sleep: { _ in }) {
                attempts += 1
                if attempts == 1 { throw failure }
            }
            #expect(attempts == 2)
        }
    }

    @Test func `Anything else ends the wait, and so does being reported to stop`() async {
        let other = CommandError(DataSamplerError(.identity, "damaged"))
        let error = await #expect(throws: CommandError.self) {
            try await FullDiskPause.retrying(reported: { _ in }, sleep: { _ in }, { throw other })
        }
        #expect(error?.message == "damaged")
        await #expect(throws: CancellationError.self) {
            try await FullDiskPause.retrying(
                reported: { _ in }, sleep: { _ in throw CancellationError() }, { throw Self.full })
        }
    }
}
