import CommandKit
import LogArchive
import Logging
import RecordStore
import Registry

/// The data of a collector that a command works on, in a directory or in a cluster's servers.
///
/// Nothing is opened before it is asked for. A command closes what it was given through `withData`.
protocol CollectorData: Sendable {
    var registry: any Registry { get }

    /// The name for people, in messages.
    var name: String { get }

    /// - Throws: if this version of the program cannot work on it, where no other call would say so as well.
    func requireUsable() async throws

    /// The record store, to read it beside running collectors.
    func records() async throws -> any RecordStore

    /// Where the bytes of logs are.
    func chunks() throws -> any ChunkStore

    /// The metadata service for one command. The caller closes it.
    /// - Throws: `.notFound` if no collector has ever been started.
    func metadata() throws -> MetadataService

    /// Removes records through `work` if no collector does that now.
    /// - Parameter work: gets a record store that may drop partitions, and does not close it.
    /// - Returns: `nil`, with nothing done, while a collector does it.
    func removing<Value: Sendable>(_ work: @escaping @Sendable (any RecordStore) async throws -> Value) async throws
        -> Value?

    func close() async
}

extension CollectorData {
    func withMetadata<Value>(_ work: (MetadataService) async throws -> Value) async throws -> Value {
        let metadata = try metadata()
        let result: Result<Value, any Error>
        do { result = .success(try await work(metadata)) } catch { result = .failure(error) }
        await metadata.close()
        return try result.get()
    }
}
