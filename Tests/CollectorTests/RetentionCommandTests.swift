import Foundation
import Registry
import SQLiteRecordStore
import TestKit
import Testing
import WireModel

/// The built `ws1collector` on data of long ago.
@Suite("ws1collector retention", .timeLimit(.minutes(10)))
struct RetentionCommandTests {
    @Test func `Serving removes what is old, however often it is killed`() async throws {
        let data = try await KeptData(days: 20)
        var seconds = 0.05
        var lives = 0
        while try StreamName.allCases.contains(where: { try data.files($0) > 0 }) {
            lives += 1
            try #require(lives < 60, "nothing more is removed")
            try await data.serveAndKill(after: seconds)
            try await data.expectBalance()
            // Short lives first; longer ones, so that it ends on a busy machine too.
            seconds *= 1.3
        }
        try await data.expectBalance()
        let store = try SQLiteRecordStore.openReading(directory: data.path)
        let status = try await RetentionService(SQLiteRegistry(directory: data.path)).status(of: store)
        #expect(status.streams.map(\.removedFiles) == [20, 20, 20])
        let shown = try await data.ws1collector("retention", "status", "--json")
        #expect(shown.status == 0 && shown.text.contains(#""removedFiles" : 20"#))
    }

    @Test func `A release says whether something waited`() async throws {
        let data = try await KeptData(days: 1, devices: 1)
        let released = try await data.ws1collector("retention", "release")
        #expect(released.status == 0 && released.text == "Retention does not wait.\n")
        let nowhere = try await ProgramRun.of(
            ["retention", "--data", "/nonexistent"], program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
        #expect(nowhere.status == 64 && nowhere.errors.contains("not a collector's data directory"))
    }
}
