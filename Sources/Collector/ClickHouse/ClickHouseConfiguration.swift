import HTTPConnection

/// Where the ClickHouse servers are, and who asks them.
package struct ClickHouseConfiguration: Sendable, CustomStringConvertible, CustomReflectable {
    /// HTTP interfaces of the replicas, `http[s]://HOST[:PORT]`. Reads and inserts use the first one that works. Where
    /// several collectors run, give each another order, so that they share the load.
    package var urls: [String]
    package var user: String
    package var password: String
    package var database: String
    /// PEM file of the only trusted certificate authorities for https; `nil` trusts the system's.
    package var caFile: String?
    /// Whether plain HTTP may leave this machine. Everybody on the way can then read and change records.
    package var allowsPlaintext = false
    /// Names the proxy on the way to a replica. The default names none.
    package var proxies = ProxyEnvironment()
    /// Time limit for a connection, seconds.
    package var connectTimeoutSeconds: Int
    /// Time limit for a whole query on one replica, seconds. The server ends a slow query one second earlier.
    package var queryTimeoutSeconds: Int
    /// Time limit for a whole insert, seconds. Keep it above the timeout of a quorum, so that the server's own answer
    /// comes first.
    package var insertTimeoutSeconds: Int
    /// The most bytes of an answer.
    package var maximumAnswerBytes: Int

    package init(
        urls: [String], user: String = "default", password: String = "", database: String = "default",
        connectTimeoutSeconds: Int = 3, queryTimeoutSeconds: Int = 20, insertTimeoutSeconds: Int = 20,
        maximumAnswerBytes: Int = 256 << 20, caFile: String? = nil
    ) {
        self.urls = urls
        self.user = user
        self.password = password
        self.database = database
        self.connectTimeoutSeconds = connectTimeoutSeconds
        self.queryTimeoutSeconds = queryTimeoutSeconds
        self.insertTimeoutSeconds = insertTimeoutSeconds
        self.maximumAnswerBytes = maximumAnswerBytes
        self.caFile = caFile
    }

    /// A description without the password.
    package var description: String {
        "ClickHouse at \(urls.joined(separator: ", ")), database \(database), user \(user)"
    }

    /// Hides the password from `dump` and from test output too.
    package var customMirror: Mirror {
        Mirror(self, children: ["urls": urls, "user": user, "database": database])
    }
}

/// One server of the configuration.
package struct ClickHouseReplica: Sendable, Hashable, CustomStringConvertible {
    /// Its place in the configuration, from 0.
    package let index: Int
    /// The URL without user and password.
    package let url: String

    package var description: String { url }
}
