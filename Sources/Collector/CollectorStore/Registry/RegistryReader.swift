import SQLite
import WireModel

/// What of the registry may be looked at without changing anything: for commands beside a running collector, and for a data directory that
/// cannot be written, such as another user's or a mounted backup.
///
/// Each call reads at one moment.
package struct RegistryReader {
    private let directory: DataDirectory

    package init(directory: String) {
        self.directory = DataDirectory(path: directory)
    }

    /// By name.
    /// - Throws: `.notFound` where there is no collector's data; `.newerVersion`, `.corrupt`, `.io`.
    package func organizations() throws(StoreError) -> [OrganizationRow] { try read(OrganizationRow.all) }

    /// In the order of their making; revoked ones too, never the secrets.
    /// - Throws: as `organizations`.
    package func tokens() throws(StoreError) -> [TokenRow] { try read(TokenRow.all) }

    /// Whether there is such a device, of any organization; not one that was deleted.
    /// - Throws: as `organizations`.
    package func hasDevice(_ device: DeviceID) throws(StoreError) -> Bool {
        try !read { connection throws(SQLiteError) in
            let statement = try connection.cached("SELECT 1 FROM device WHERE id = ?")
            try statement.bind(device.data)
            defer { statement.reset() }
            return try statement.step() ? [true] : []
        }.isEmpty
    }

    private func read<Row>(_ all: (Connection) throws(SQLiteError) -> [Row]) throws(StoreError) -> [Row] {
        guard let connection = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        return try StoreError.mapping { () throws(SQLiteError) in try all(connection) }
    }
}
