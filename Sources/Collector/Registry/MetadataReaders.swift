import RecordStore
import Synchronization
import TelemetryBasics
import WireModel

/// Sessions that only read the registry, each with its own serial queue.
///
/// There are three: one may be busy with a long list and another with a search of logs, while the third authenticates a
/// token. A call goes to the connection with the fewest calls. It sees the registry at one moment: everything committed
/// before the call, and nothing committed while it reads.
package final class MetadataReaders: Sendable {
    private let readers: [MetadataReader]
    /// The number of running calls by reader.
    private let load: Mutex<[Int]>

    private static let count = 3

    init(_ registry: any Registry) throws(StoreError) {
        var readers: [MetadataReader] = []
        for number in 0..<Self.count { readers.append(try MetadataReader(registry, number: number)) }
        self.readers = readers
        load = Mutex(readers.map { _ in 0 })
    }

    package func read<Value: Sendable>(
        _ body: @Sendable (any RegistrySession) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let place = load.withLock { load in
            let place = load.indices.min { load[$0] < load[$1] } ?? 0
            load[place] += 1
            return place
        }
        defer { load.withLock { $0[place] -= 1 } }
        return try await readers[place].read(body)
    }

    package func close() async { for reader in readers { await reader.close() } }
}

/// One session, off the cooperative pool.
private actor MetadataReader {
    private let connection: any RegistrySession
    private nonisolated let executor: BlockingExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ registry: any Registry, number: Int) throws(StoreError) {
        connection = try registry.openReading()
        executor = BlockingExecutor(label: "ws1.collector.metadata.reader.\(number)")
    }

    func read<Value: Sendable>(
        _ body: @Sendable (any RegistrySession) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try connection.requireInPlace()
        return try connection.reading { () throws(StoreError) in try body(connection) }
    }

    func close() { try? connection.close() }
}

/// Reads the registry without a service: for commands beside a running collector, and for a data directory that
/// cannot be written, such as a mounted backup.
///
/// Each call reads at one moment.
package struct MetadataSnapshot {
    private let registry: any Registry

    package init(directory: String) { self.init(SQLiteRegistry(directory: directory)) }

    package init(_ registry: any Registry) { self.registry = registry }

    /// Sorted by name.
    /// - Throws: `.notFound` if there is no collector's data; `.newerVersion`, `.corrupt`, `.io`.
    package func organizations() throws(StoreError) -> [OrganizationRow] { try read(OrganizationRow.all) }

    /// Returns the tokens in the order of creation, including revoked ones, never with secrets.
    /// - Throws: as `organizations`.
    package func tokens() throws(StoreError) -> [TokenRow] { try read(TokenRow.all) }

    /// Whether the device exists in any organization. A deleted device does not.
    /// - Throws: as `organizations`.
    package func hasDevice(_ device: DeviceID) throws(StoreError) -> Bool {
        try read { connection throws(StoreError) in
            try connection.hasRow("SELECT 1 FROM device WHERE id = ?", device.data)
        }
    }

    /// Every device there is, with its organization; not those that were deleted.
    /// - Parameter organization: `nil` for all.
    /// - Throws: as `organizations`.
    package func owners(organization: String? = nil) throws(StoreError) -> [DeviceID: String] {
        let rows = try read { connection throws(StoreError) in
            try connection.rows(
                "SELECT id, organization FROM device WHERE ?1 IS NULL OR organization = ?1", organization
            ) { row in DeviceID(row.data(0)).map { ($0, row.string(1)) } }
        }
        // A damaged index may return a row twice.
        return Dictionary(rows) { first, _ in first }
    }

    package func read<Value>(_ body: (any RegistrySession) throws(StoreError) -> Value) throws(StoreError) -> Value {
        let session = try registry.openReading()
        return try session.reading { () throws(StoreError) in try body(session) }
    }
}
