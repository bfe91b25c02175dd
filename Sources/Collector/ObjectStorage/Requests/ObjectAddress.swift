import FoundationEssentials
import HTTPConnection

/// Where objects of a bucket are: the server's address, and paths at it.
struct ObjectAddress: Sendable {
    /// The server for connections: with the bucket in the host's name if addressing is virtual-hosted.
    let server: EndpointURL
    /// The host as in the Host header: without the scheme's own port.
    let host: String
    private let bucketPath: String
    private let keyPrefix: String

    init(_ configuration: ObjectStorageConfiguration) throws(ObjectStorageError) {
        let endpoint = configuration.endpoint
        switch configuration.addressing {
        case .path:
            server = endpoint
            bucketPath = "/\(configuration.bucket)"
        case .virtualHosted:
            let text =
                "\(endpoint.scheme.rawValue)://\(configuration.bucket).\(endpoint.authority)\(endpoint.prefix)"
            do throws(ConnectionSettingsError) {
                server = try EndpointURL(server: text, name: "URL of the bucket")
            } catch { throw ObjectStorageError(.configuration, "\(error.message).", cause: error) }
            bucketPath = ""
        }
        let isStandard = server.port == (server.scheme == .https ? 443 : 80)
        let name = server.host.contains(":") ? "[\(server.host)]" : server.host
        host = isStandard ? name : server.authority
        keyPrefix = configuration.prefix.isEmpty ? "" : "\(configuration.prefix)/"
    }

    /// Whether a key can be sent as it is. Software on the way may resolve `.` and `..`, and merge slashes.
    static func isKey(_ key: String) -> Bool {
        (1...1024).contains(key.utf8.count) && !key.utf8.contains(0)
            && key.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0 != "." && $0 != ".."
            }
    }

    /// The name in the bucket.
    func name(of key: String) -> String { keyPrefix + key }

    /// The key of a name in the bucket; `nil` if it does not begin with the prefix.
    func key(of name: String) -> String? {
        name.hasPrefix(keyPrefix) ? String(name.dropFirst(keyPrefix.count)) : nil
    }

    /// Percent-encoded, below `server`.
    /// - Parameter key: `nil` for the bucket itself.
    func path(_ key: String?) -> String {
        guard let key else { return bucketPath.isEmpty ? "/" : bucketPath }
        return "\(bucketPath)/\(RequestSigner.encoded(name(of: key), keepingSlashes: true))"
    }
}
