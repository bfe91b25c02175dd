import SQLite

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

    private func read<Row>(_ all: (Connection) throws(SQLiteError) -> [Row]) throws(StoreError) -> [Row] {
        guard let connection = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        return try StoreError.mapping { () throws(SQLiteError) in try all(connection) }
    }
}
