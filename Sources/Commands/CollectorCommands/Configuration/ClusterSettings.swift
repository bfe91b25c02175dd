import ClickHouse
import ClusterStore
import CommandKit
import Foundation
import HTTPConnection
import ObjectStorage
import PostgreSQL
import TelemetryBasics

/// Where a collector keeps its data.
enum StoreKind: String, CaseIterable, Sendable {
    /// In the data directory of one collector.
    case directory
    /// In ClickHouse, PostgreSQL and a bucket, which several collectors share.
    case cluster
}

/// The servers of a cluster, as the settings name them.
struct ClusterSettings: Equatable, Sendable {
    var clickHouseURLs: [String] = []
    var clickHouseDatabase = "ws1"
    var clickHouseUser = "default"
    var clickHousePassword: String?
    var clickHousePasswordFile: String?
    var clickHouseCA: String?
    var clickHouseQuorum = 2
    var postgreSQL: String?
    var postgreSQLPasswordFile: String?
    var bucketEndpoint: String?
    var bucket: String?
    var bucketRegion = "us-east-1"
    var bucketPrefix: String?
    var bucketCA: String?
    var bucketCredentials: String?

    static let table: [Setting<Settings>] = [
        Setting(
            "store", \.store, .choice(),
            "Where data is kept: in the data directory, or in the servers of a cluster (Documentation/scale.md)",
            value: "kind"),
        Setting(
            "clickhouse-urls", \.cluster.clickHouseURLs, .urls,
            "Of a cluster: http:// or https:// addresses of ClickHouse, one for each replica, separated by commas",
            value: "urls", example: "https://10.0.0.11:8443,https://10.0.0.12:8443,https://10.0.0.13:8443"),
        Setting(
            "clickhouse-database", \.cluster.clickHouseDatabase, .text, "Database in ClickHouse", value: "name"),
        Setting("clickhouse-user", \.cluster.clickHouseUser, .text, "User in ClickHouse", value: "name"),
        Setting(
            "clickhouse-password", \.cluster.clickHousePassword, .secret,
            "Password of that user; prefer the environment or the file", value: "password", fallback: "none",
            example: "secret", isSecret: true),
        Setting(
            "clickhouse-password-file", \.cluster.clickHousePasswordFile, .text,
            "File whose first line is the password for ClickHouse", value: "file", fallback: "none",
            example: "/etc/ws1collector/clickhouse-password"),
        Setting(
            "clickhouse-ca", \.cluster.clickHouseCA, .text,
            "PEM file with the only authorities to trust for https:// addresses of ClickHouse", value: "file",
            fallback: "those of the system", example: "/etc/ws1collector/clickhouse-ca.pem"),
        Setting(
            "clickhouse-quorum", \.cluster.clickHouseQuorum, .integer(1...9),
            "Replicas that must have a record before a device is told that it is stored", value: "count"),
        Setting(
            "postgresql", \.cluster.postgreSQL, .secret,
            """
            Of a cluster: connection string of PostgreSQL, as libpq takes it. It may have a password, so prefer the \
            environment or the file
            """,
            value: "string", example: "postgresql://ws1@10.0.0.21/ws1?sslmode=verify-full", isSecret: true),
        Setting(
            "postgresql-password-file", \.cluster.postgreSQLPasswordFile, .text,
            "File whose first line is the password for PostgreSQL", value: "file",
            fallback: "the password in the connection string", example: "/etc/ws1collector/postgresql-password"),
        Setting(
            "bucket-endpoint", \.cluster.bucketEndpoint, .text,
            "Of a cluster: http:// or https:// address of the S3-compatible storage of logs", value: "url",
            example: "https://s3.eu-central-1.amazonaws.com"),
        Setting(
            "bucket", \.cluster.bucket, .text, "Bucket for logs", value: "name", example: "ws1-logs"),
        Setting("bucket-region", \.cluster.bucketRegion, .text, "The bucket's region", value: "name"),
        Setting(
            "bucket-prefix", \.cluster.bucketPrefix, .text, "Beginning of the names of all objects", value: "text",
            fallback: "none", example: "production"),
        Setting(
            "bucket-ca", \.cluster.bucketCA, .text,
            "PEM file with the only authorities to trust for an https:// bucket-endpoint", value: "file",
            fallback: "those of the system", example: "/etc/ws1collector/bucket-ca.pem"),
        Setting(
            "bucket-credentials", \.cluster.bucketCredentials, .text,
            "File with the bucket's keys, as the AWS tools write it, profile `default`", value: "file",
            fallback: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
            example: "/etc/ws1collector/bucket-credentials"),
    ]

    /// Checks what a cluster needs, and reads the password for ClickHouse from its file.
    /// - Throws: `.usage`, naming what is missing.
    mutating func check(_ layers: SettingLayers<Settings>) throws(CommandError) {
        try layers.require(\.cluster.clickHouseURLs)
        try layers.require(\.cluster.postgreSQL)
        try layers.require(\.cluster.bucketEndpoint)
        try layers.require(\.cluster.bucket)
        guard clickHouseQuorum <= clickHouseURLs.count else {
            throw layers.refusal(
                \.cluster.clickHouseQuorum,
                "clickhouse-urls names \(clickHouseURLs.count) replicas, and \(clickHouseQuorum) must have a record. "
                    + "Name every replica")
        }
        try readPassword(layers)
    }

    private mutating func readPassword(_ layers: SettingLayers<Settings>) throws(CommandError) {
        guard let path = clickHousePasswordFile else { return }
        if let other = layers[\.cluster.clickHousePassword] {
            throw layers.refusal(
                \.cluster.clickHousePasswordFile, "\(other.origin) gives a password too. Give only one of them")
        }
        guard let bytes = try? PlainText.read(path) else {
            throw layers.refusal(
                \.cluster.clickHousePasswordFile,
                "the file cannot be read: \(FileFault(path).words(otherwise: "it is no file of text"))")
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        guard !line.isEmpty, let password = String(validating: line, as: UTF8.self) else {
            throw layers.refusal(
                \.cluster.clickHousePasswordFile, "its first line must be the password, in UTF-8, and it is not")
        }
        clickHousePassword = password
    }

    /// For the record store.
    /// - Parameters:
    ///   - allowsPlaintext: whether plain HTTP and unverified TLS may leave this machine.
    ///   - proxies: for ClickHouse.
    func records(allowsPlaintext: Bool, proxies: ProxyEnvironment) -> ClusterRecordStore.Configuration {
        var clickHouse = ClickHouseConfiguration(
            urls: clickHouseURLs, user: clickHouseUser, password: clickHousePassword ?? "",
            database: clickHouseDatabase)
        clickHouse.caFile = clickHouseCA
        clickHouse.allowsPlaintext = allowsPlaintext
        clickHouse.proxies = proxies
        var configuration = ClusterRecordStore.Configuration(
            postgreSQL: database(allowsPlaintext: allowsPlaintext), clickHouse: clickHouse)
        configuration.quorum = clickHouseQuorum
        return configuration
    }

    /// - Parameter allowsPlaintext: whether a server of another machine may be reached without verified TLS.
    func database(allowsPlaintext: Bool) -> PostgresConfiguration {
        var database = PostgresConfiguration(
            connectionString: postgreSQL ?? "", passwordFile: postgreSQLPasswordFile)
        database.allowsPlaintext = allowsPlaintext
        return database
    }

    /// - Parameter allowsPlaintext: whether plain HTTP may leave this machine.
    func storage(allowsPlaintext: Bool) throws(CommandError) -> ObjectStorageConfiguration {
        do throws(ObjectStorageError) {
            var storage = try ObjectStorageConfiguration(
                endpoint: bucketEndpoint ?? "", region: bucketRegion, bucket: bucket ?? "",
                prefix: bucketPrefix ?? "", credentials: bucketCredentials.map { .file(path: $0) } ?? .environment)
            storage.certificateAuthorityFile = bucketCA
            storage.allowsPlaintext = allowsPlaintext
            return storage
        } catch { throw CommandError(.usage, error.message, cause: error) }
    }
}

extension Settings {
    /// For a cluster's record store.
    var clusterRecords: ClusterRecordStore.Configuration {
        cluster.records(allowsPlaintext: allowPlaintext, proxies: proxies)
    }
}

extension SettingType where Value == [String] {
    fileprivate static let urls = SettingType(
        .names(known: nil), text: { $0.joined(separator: ",") }
    ) { given throws(CommandError) in
        let urls = try given.names("addresses")
        guard urls.allSatisfy({ $0.hasPrefix("http://") || $0.hasPrefix("https://") }) else {
            throw given.wrong("http:// or https:// addresses, separated by commas")
        }
        return urls
    }
}

extension SettingType where Value == String {
    /// `validate` shows that it is given, and not what it is.
    fileprivate static let secret = SettingType(.text(range: nil, pattern: nil), text: { _ in "given" }) {
        given throws(CommandError) in try given.text()
    }
}
