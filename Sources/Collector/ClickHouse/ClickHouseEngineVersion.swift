/// The version of a ClickHouse server, as far as settings depend on it.
package struct ClickHouseEngineVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let major: Int
    package let minor: Int

    package init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Reads an answer of `SELECT version()`, such as `18.16.1` or `25.8.2.29`; `nil` for another form.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 2, let major = Int(parts[0]), let minor = Int(parts[1]), major > 0, minor >= 0 else {
            return nil
        }
        self.init(major: major, minor: minor)
    }

    package static func < (one: Self, other: Self) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }

    package var description: String { "\(major).\(minor)" }
}

extension ClickHouseClient {
    /// The version of one server.
    /// - Parameter replica: `nil` asks the first one that answers.
    package func engineVersion(on replica: ClickHouseReplica? = nil) async throws(ClickHouseError)
        -> ClickHouseEngineVersion
    {
        var rows = try await query("SELECT version()", on: replica)
        guard rows.next() else { throw ClickHouseError(.protocolViolation, "SELECT version() gave no row") }
        let text = try rows.string()
        guard let version = ClickHouseEngineVersion(text) else {
            throw ClickHouseError(.protocolViolation, "'\(text.prefix(40))' is no version of ClickHouse")
        }
        return version
    }
}
