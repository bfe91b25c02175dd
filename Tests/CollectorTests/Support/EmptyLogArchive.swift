@testable import CollectorStore
import Foundation
import WireModel

/// No logs, for tests of everything else. What is done with logs is tested over the archive on disk.
struct EmptyLogArchive: LogArchive {
    /// What is read where lines are asked for.
    var lines: @Sendable () -> any LogContent = { EmptyLogContent() }

    func begin(_ manifest: UploadManifest, from device: DeviceRow) async throws(UploadError) -> UploadStanding {
        throw .unknownUpload
    }
    func standing(of upload: UploadID, from device: DeviceID) async throws(UploadError) -> UploadStanding {
        throw .unknownUpload
    }

    func store(
        _ bytes: Data, chunk number: Int, of upload: UploadID, from device: DeviceID
    ) async throws(UploadError) -> UploadStanding { throw .unknownUpload }

    func complete(
        _ upload: UploadID, gone: [UploadStanding.GoneChunk], from device: DeviceID
    ) async throws(UploadError) -> UploadStanding { throw .unknownUpload }

    func chunks(_ query: LogQuery, below id: Int64?, limit: Int) async throws(StoreError) -> ChunkPage {
        ChunkPage(chunks: [], next: nil)
    }
    func content(_ query: LogQuery, as form: LogForm) async throws(StoreError) -> any LogContent { lines() }
    func deletion(_ query: LogQuery) async throws(StoreError) -> LogDeletion {
        LogDeletion(chunks: 0, devices: 0, rawBytes: 0, lines: 0, confirmation: "")
    }
    func delete(_ query: LogQuery, confirmation: String, by actor: AuditActor) async throws(StoreError) -> LogDeletion?
    { throw Self.none }
    func usage(organization: String?) async throws(StoreError) -> [LogUsageRow] { [] }
    func uploads(of device: DeviceID, command: CommandID?, limit: Int) async throws(StoreError) -> [UploadRow] { [] }
    private static let none = StoreError(.notFound, "no logs")

    func notices(organization: String?, below id: Int64?, limit: Int) async throws(StoreError) -> NoticePage {
        NoticePage(notices: [], next: nil)
    }

    func shutDown() async {}
}

/// No line.
struct EmptyLogContent: LogContent {
    func next() async throws(StoreError) -> Data? { nil }
}
