import SQLite
import WireModel

extension RegistryDatabase {
    func deviceIDs(organization: String?, withTest: Bool) throws(StoreError) -> [DeviceID] {
        try read { () throws(SQLiteError) in
            let statement = try connection.cached(
                "SELECT id FROM device WHERE (?1 IS NULL OR organization = ?1) AND (?2 OR test = 0) ORDER BY id")
            try statement.bind(organization, withTest)
            defer { statement.reset() }
            var found: [DeviceID] = []
            while try statement.step() {
                guard let id = DeviceID(statement.data(0)) else {
                    throw SQLiteError(
                        code: .corrupt, message: "\(connection.path): a device's id is not 16 bytes.", operation: "list devices")
                }
                found.append(id)
            }
            return found
        }
    }
}
