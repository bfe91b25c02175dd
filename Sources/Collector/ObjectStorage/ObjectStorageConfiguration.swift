import FoundationEssentials
import Glibc
import HTTPConnection

/// Where a bucket is, how it is reached, and how long its answers may take.
package struct ObjectStorageConfiguration: Sendable {
    package enum Addressing: String, Sendable {
        /// `https://HOST/BUCKET/KEY`. Every server knows it.
        case path
        /// `https://BUCKET.HOST/KEY`. Amazon wants it for new buckets.
        case virtualHosted = "virtual-hosted"
    }

    package let endpoint: EndpointURL
    /// The region as in the signature, such as `us-east-1`. Servers without regions mostly accept that one.
    package let region: String
    package let bucket: String
    /// The prefix of every key, with a slash between; empty for none. Collectors with one registry have one prefix.
    package let prefix: String
    package let addressing: Addressing
    package var credentials: ObjectStorageCredentials.Source
    /// PEM file of the only trusted certificate authorities; `nil` trusts the system's.
    package var certificateAuthorityFile: String?
    /// Whether plain HTTP may leave this machine. Everybody on the way can then read and change logs.
    package var allowsPlaintext = false

    /// Time limit for establishing a connection, including TLS.
    package var connectTimeout: Duration = .seconds(5)
    /// Time limit of one attempt, with its whole answer.
    package var requestTimeout: Duration = .seconds(15)
    /// Time limit of a call with all its attempts.
    package var totalTimeout: Duration = .seconds(30)
    /// The pause before the second attempt; each further one is twice as long, up to 2 s.
    package var firstPause: Duration = .milliseconds(100)
    /// The most connections at a time. Further requests wait for one, within `requestTimeout`.
    package var maximumConnections = 32
    /// The largest object, in bytes, that is read as a whole or in one range.
    package var maximumObjectBytes = 64 << 20

    /// - Parameters:
    ///   - endpoint: `http[s]://HOST[:PORT][/PREFIX]`.
    ///   - prefix: slashes at its ends do not count.
    /// - Throws: `.configuration`.
    package init(
        endpoint: String, region: String, bucket: String, prefix: String = "", addressing: Addressing = .path,
        credentials: ObjectStorageCredentials.Source
    ) throws(ObjectStorageError) {
        do throws(ConnectionSettingsError) {
            self.endpoint = try EndpointURL(server: endpoint, name: "endpoint URL of the object storage")
        } catch { throw ObjectStorageError(.configuration, "\(error.message).", cause: error) }
        func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"): true
            default: false
            }
        }
        guard (1...64).contains(region.utf8.count), region.utf8.allSatisfy(isPlain) else {
            throw ObjectStorageError(
                .configuration,
                """
                the region of the object storage must have 1 to 64 lower-case letters, digits and dashes, such as \
                us-east-1.
                """
            )
        }
        guard (3...63).contains(bucket.utf8.count),
            bucket.utf8.allSatisfy({ isPlain($0) || $0 == UInt8(ascii: ".") }), bucket.first != ".", bucket.last != "."
        else {
            throw ObjectStorageError(
                .configuration,
                "a bucket's name must have 3 to 63 lower-case letters, digits, dashes and inner points.")
        }
        var trimmed = prefix[...]
        while trimmed.first == "/" { trimmed.removeFirst() }
        while trimmed.last == "/" { trimmed.removeLast() }
        self.prefix = String(trimmed)
        guard self.prefix.isEmpty || ObjectAddress.isKey(self.prefix), self.prefix.utf8.count <= 256 else {
            throw ObjectStorageError(
                .configuration,
                "the prefix in the bucket must have at most 256 bytes, and no empty part, `.` or `..` between slashes.")
        }
        var address = in_addr()
        var address6 = in6_addr()
        let isAddress =
            inet_pton(AF_INET, self.endpoint.host, &address) == 1
            || inet_pton(AF_INET6, self.endpoint.host, &address6) == 1
        guard addressing == .path || !isAddress else {
            throw ObjectStorageError(
                .configuration,
                """
                virtual-hosted addressing needs a name in the endpoint URL, as the bucket's name comes before it. Use \
                a name, or path addressing.
                """
            )
        }
        self.region = region
        self.bucket = bucket
        self.addressing = addressing
        self.credentials = credentials
    }
}
