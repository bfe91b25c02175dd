import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import Testing
import WireModel

/// A device that sends logs, and people who look at them.
struct UploadScene: Sendable {
    let harness: MetadataHarness
    let client: any TestClientProtocol
    let device: EnrollResult
    let person: String

    func begin(_ upload: UploadID, _ manifest: WireUploadManifest, as credential: String? = nil) async throws
        -> TestResponse
    {
        try await client.send(
            .put, "\(WireNames.uploadsPath)/\(upload)", bearer: credential ?? device.credential,
            headers: [.contentType: WireNames.protobuf], body: manifest.encoded)
    }

    func send(_ upload: UploadID, _ number: Int, _ gzip: Data, as credential: String? = nil) async throws
        -> TestResponse
    {
        try await client.send(
            .put, "\(WireNames.uploadsPath)/\(upload)/chunks/\(number)", bearer: credential ?? device.credential,
            headers: [.contentType: WireNames.gzip], body: gzip)
    }

    func complete(_ upload: UploadID, gone: [(UInt32, WireDropReason)] = []) async throws -> TestResponse {
        var message = WireCompleteUpload()
        message.gone = gone.map { number, reason in
            var chunk = WireGoneChunk()
            (chunk.number, chunk.reason) = (number, reason)
            return chunk
        }
        return try await client.send(
            .post, "\(WireNames.uploadsPath)/\(upload)/complete", bearer: device.credential,
            headers: [.contentType: WireNames.protobuf],
            body: message.encoded)
    }

    func standing(_ upload: UploadID, as credential: String? = nil) async throws -> TestResponse {
        try await client.send(.get, "\(WireNames.uploadsPath)/\(upload)", bearer: credential ?? device.credential)
    }

    /// Sends a whole book and completes it.
    @discardableResult
    func upload(_ book: LogBook, type: LogType = .application, command: Data = Data(), as credential: String? = nil)
        async throws
        -> UploadID
    {
        let upload = UploadID.random()
        let begun = try await begin(upload, book.manifest(upload, type: type, command: command), as: credential)
        #expect(begun.status == .ok, "\(String(buffer: begun.body))")
        for (position, chunk) in book.chunks.enumerated() {
            let sent = try await send(upload, position + 1, chunk.gzip, as: credential)
            #expect(sent.status == .ok, "\(String(buffer: sent.body))")
        }
        return upload
    }

    /// What lies below `<data>/chunks`, but for the lock.
    var files: [String] {
        let found =
            FileManager.default.enumerator(atPath: harness.directory + "/chunks")?.compactMap { $0 as? String } ?? []
        return found.filter { $0.hasSuffix(".gz") || $0.hasSuffix(".partial") }.sorted()
    }

    static func play(
        quotaBytes: Int = 200_000_000, _ body: @escaping @Sendable (UploadScene) async throws -> Void
    ) async throws {
        let harness = try MetadataHarness(quotaBytes: quotaBytes)
        try await harness.route { client in
            try await body(
                UploadScene(
                    harness: harness, client: client, device: try await harness.device(),
                    person: try await harness.person(.operator)))
        }
    }
}

extension TestResponse {
    /// Expects a refusal.
    func expect(_ status: Int, _ code: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(self.status.code == status, "\(String(buffer: body))", sourceLocation: sourceLocation)
        let found = try problem.code
        #expect(found == code, sourceLocation: sourceLocation)
    }
}
