import FoundationEssentials
import Glibc
import RecordStore
import SQLite
import TelemetryBasics

/// A session with the registry in `collector.sqlite`.
///
/// It adds nothing to what SQLite does: statements stay prepared in the connection's cache, rows are read in SQLite's
/// memory, and changes of several processes are serial because SQLite has one writer.
package final class SQLiteRegistrySession: RegistrySession {
    package let connection: Connection
    private let identity: FileIdentity

    package init(_ connection: Connection) {
        self.connection = connection
        identity = FileIdentity(path: connection.path)
    }

    package var name: String { connection.path }
    package var dialect: RegistryDialect { .sqlite }

    package func execute(_ sql: String, _ values: [any RegistryBindable]) throws(StoreError) -> Int {
        let statement = try StoreError.mapping(connection.cached(sql))
        try bind(values, to: statement)
        try StoreError.mapping(statement.run())
        return connection.changes
    }

    package func query(
        _ sql: String, _ values: [any RegistryBindable], isKept: Bool,
        _ receive: (RegistryRow) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let statement = try StoreError.mapping(isKept ? connection.cached(sql) : connection.prepare(sql))
        try bind(values, to: statement)
        defer { statement.reset() }
        let row = RegistryRow(statement)
        while try StoreError.mapping(statement.step()) {
            guard try receive(row) else { return }
        }
    }

    package func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.transaction(.immediate, mapping: StoreError.init, body)
    }

    package func reading<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.transaction(.deferred, mapping: StoreError.init, body)
    }

    /// One collector has the file open, and knows its own changes.
    package func announce(_ changes: Set<RegistryChange>) {}

    package func requireInPlace() throws(StoreError) {
        guard identity.isInPlace else { throw .databaseGone(connection.path) }
    }

    /// A session that may write leaves an empty WAL.
    package func close() throws(StoreError) {
        try StoreError.mapping { () throws(SQLiteError) in
            if connection.options.mode != .readOnly { _ = try connection.checkpoint(.truncate) }
            try connection.close()
        }
    }

    private func bind(_ values: [any RegistryBindable], to statement: Statement) throws(StoreError) {
        guard values.count == Int(statement.parameterCount) else {
            throw StoreError(
                .internalFault,
                "\(values.count) values for \(statement.parameterCount) parameters on \(connection.path).")
        }
        for (offset, value) in values.enumerated() {
            let (value, place) = (try value.registryValue(), Int32(offset + 1))
            try StoreError.mapping { () throws(SQLiteError) in
                switch value {
                case .integer(let value): try statement.bind(value, at: place)
                case .real(let value): try statement.bind(value, at: place)
                case .text(let value): try statement.bind(value, at: place)
                case .bytes(let value): try statement.bind(value, at: place)
                case .null: try statement.bindNull(at: place)
                }
            }
        }
    }
}

/// The registry in `collector.sqlite` of a data directory.
package struct SQLiteRegistry: Registry {
    package let directory: DataDirectory

    package init(directory path: String) { self.init(DataDirectory(path: path)) }

    package init(_ directory: DataDirectory) { self.directory = directory }

    package func requireCollector() throws(StoreError) {
        guard Paths.exists(directory.databasePath) else { throw .noCollector(directory.path) }
    }

    package func makeLease() -> RegistryLease { RegistryLease(clock: nil) }

    private static let maximumVerificationBytes = 1 << 20

    package func verification() throws(StoreError) -> Data? {
        try Files<StoreError>.read(directory.verificationPath, maximumBytes: Self.maximumVerificationBytes).map {
            Data($0)
        }
    }

    /// Replaces `<data>/verify.json` in one step. The file belongs to the directory's owner, whoever runs `verify`.
    package func keepVerification(_ result: Data) throws(StoreError) {
        let path = directory.verificationPath
        let new = "\(path).new"
        try Files<StoreError>.write(result.bytes, to: new, sync: .content)
        var owner = stat()
        if geteuid() == 0, stat(directory.path, &owner) == 0 { _ = lchown(new, owner.st_uid, owner.st_gid) }
        try Files<StoreError>.rename(new, to: path)
        try Files<StoreError>.syncDirectory(of: path)
    }

    package func openWriting() throws(StoreError) -> any RegistrySession {
        SQLiteRegistrySession(try CollectorDatabase.open(directory))
    }

    package func openReading() throws(StoreError) -> any RegistrySession {
        guard let connection = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        return SQLiteRegistrySession(connection)
    }
}
