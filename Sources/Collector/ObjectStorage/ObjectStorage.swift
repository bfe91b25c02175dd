import Crypto
import FoundationEssentials
import HTTPConnection
import NIOCore
import NIOPosix
import Synchronization
import TelemetryBasics
import WireModel

/// One bucket of an S3-compatible object storage.
///
/// Keys are below the configured prefix. Every call has the same effect however often it is made, so a call that fails
/// for a passing reason is made again, within `totalTimeout`. A call that ends with an error may have taken effect
/// nevertheless, also later: a request on its way is not called back.
///
/// Bytes are checked on every way: the storage checks SHA-256 and MD5 of what arrives, its ETag is compared with what
/// was sent, and a whole object that is read is compared with the SHA-256 stored beside it.
///
/// Safe to use from any task. Call `shutDown()` once, last.
package final class ObjectStorage: Sendable {
    package let configuration: ObjectStorageConfiguration
    /// Runs the connections.
    package let group: any EventLoopGroup
    let address: ObjectAddress
    let requests: ObjectRequests

    /// User-defined metadata of every object: the SHA-256 of its bytes, in hexadecimal.
    static let digestHeader = "x-amz-meta-sha256"

    /// Reads the credentials. Sends nothing before the first call.
    /// - Throws: `.configuration`.
    package convenience init(_ configuration: ObjectStorageConfiguration) throws(ObjectStorageError) {
        try self.init(
            configuration, on: MultiThreadedEventLoopGroup.singleton,
            environment: ProcessInfo.processInfo.environment, now: SystemClock.wallMicroseconds)
    }

    /// - Parameter now: microseconds since 1970, for signatures.
    init(
        _ configuration: ObjectStorageConfiguration, on group: any EventLoopGroup, environment: [String: String],
        now: @escaping @Sendable () -> Int64
    ) throws(ObjectStorageError) {
        self.configuration = configuration
        self.group = group
        address = try ObjectAddress(configuration)
        requests = try ObjectRequests(configuration, address, on: group, environment: environment, now: now)
    }

    /// Closes the connections. Calls under way end with `.shutDown`, as do later ones.
    package func shutDown() async { await requests.shutDown() }

    /// Asks for one object of the list: whether the storage answers, knows the bucket, and accepts the credentials. It
    /// does not show whether they may write.
    package func check() async throws(ObjectStorageError) { _ = try await list(limit: 1) }

    /// Stores an object and replaces an existing one. When it returns, the storage has acknowledged it.
    /// - Throws: `.corrupt` if the storage says that it holds other bytes. The object must not be used then.
    package func put(_ key: String, _ bytes: Data) async throws(ObjectStorageError) {
        var call = ObjectRequests.Call(.put, key: try checked(key), subject: "storing an object")
        call.body = bytes
        let md5 = Data(Insecure.MD5.hash(data: bytes))
        call.headers = [
            ("content-type", "application/octet-stream"), ("content-md5", md5.base64EncodedString()),
            (Self.digestHeader, Data(SHA256.hash(data: bytes)).hexadecimal),
        ]
        guard let response = try await requests.send(call) else { throw missingBucket }
        if let stored = EntityTag.md5(response.headers), stored != md5.hexadecimal {
            throw ObjectStorageError(
                .corrupt,
                """
                the object storage holds other bytes of \(key) than were sent: the MD5 in its ETag is \(stored) \
                instead of \(md5.hexadecimal). Look at the storage.
                """
            )
        }
    }

    /// Reads an object.
    /// - Parameter range: `nil` for the whole object. Of a range that goes beyond the end, what there is; not empty.
    /// - Returns: `nil` if there is no such object.
    /// - Throws: `.corrupt` if the whole object is not what its digest says.
    package func get(_ key: String, _ range: Range<Int>? = nil) async throws(ObjectStorageError) -> ObjectContent? {
        if let range, range.isEmpty || range.lowerBound < 0 {
            throw ObjectStorageError(.configuration, "a range of an object must not be empty or begin before it.")
        }
        var call = ObjectRequests.Call(.get, key: try checked(key), subject: "reading an object")
        if let range { call.headers = [("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")] }
        call.maximumResponseBytes = range.map { max($0.count, 65_536) } ?? configuration.maximumObjectBytes
        call.acceptsUnsatisfiedRange = range != nil
        guard let response = try await requests.send(call) else { return nil }
        let content = ContentRange(response.headers["content-range"])
        func corrupt(_ reason: String) -> ObjectStorageError {
            ObjectStorageError(.corrupt, "the object storage's answer for \(key) \(reason). Look at the storage.")
        }
        guard let range else {
            guard response.status == 200 else { throw corrupt("is not the whole object (\(response.status))") }
            let digest = response.headers[Self.digestHeader]
            guard digest == nil || digest == Data(SHA256.hash(data: response.body)).hexadecimal else {
                throw corrupt("has other bytes than were stored: their SHA-256 differs from the one stored with them")
            }
            return ObjectContent(bytes: response.body, size: response.body.count)
        }
        switch response.status {
        case 206:
            guard let content, content.range == range.clamped(to: 0..<content.size),
                content.range.count == response.body.count
            else { throw corrupt("is another range than was asked for") }
            return ObjectContent(bytes: response.body, size: content.size)
        case 416:
            guard let size = content?.size else {
                // Some servers do not report the size there.
                guard let summary = try await head(key) else { return nil }
                guard summary.size <= range.lowerBound else { throw corrupt("denies a range that it has") }
                return ObjectContent(bytes: Data(), size: summary.size)
            }
            guard size <= range.lowerBound else { throw corrupt("denies a range that it has") }
            return ObjectContent(bytes: Data(), size: size)
        default: throw corrupt("is not a part of the object (\(response.status))")
        }
    }

    /// - Returns: `nil` if there is no such object, or no such bucket: the storage does not distinguish them here.
    package func head(_ key: String) async throws(ObjectStorageError) -> ObjectSummary? {
        var call = ObjectRequests.Call(.head, key: try checked(key), subject: "asking for an object")
        // A length without a body.
        call.maximumResponseBytes = .max
        guard let response = try await requests.send(call) else { return nil }
        guard let size = response.headers["content-length"].flatMap({ Int($0) }), size >= 0 else {
            throw ObjectStorageError(.corrupt, "the object storage does not tell the size of \(key).")
        }
        return ObjectSummary(size: size, digest: response.headers[Self.digestHeader])
    }

    /// Removes an object; one that does not exist, too. In a bucket with versions the storage keeps the bytes until its
    /// own rules remove them.
    package func delete(_ key: String) async throws(ObjectStorageError) {
        _ = try await requests.send(
            ObjectRequests.Call(.delete, key: try checked(key), subject: "deleting an object"))
    }

    /// A page of the objects below the prefix, in the order of their keys. It shows what was stored and deleted before
    /// the call.
    /// - Parameters:
    ///   - prefix: of the keys, after the configured one.
    ///   - token: an earlier page's `next`.
    ///   - limit: 1 to 1,000.
    package func list(
        _ prefix: String = "", after token: String? = nil, limit: Int = 1000
    ) async throws(ObjectStorageError) -> ObjectPage {
        var call = ObjectRequests.Call(.get, key: nil, subject: "listing objects")
        call.query = [
            ("list-type", "2"), ("encoding-type", "url"), ("max-keys", "\(min(max(limit, 1), 1000))"),
            ("prefix", address.name(of: prefix)),
        ]
        if let token { call.query.append(("continuation-token", token)) }
        call.maximumResponseBytes = XMLElement.Limits().bytes
        guard let response = try await requests.send(call) else { throw missingBucket }
        let listed = response.date ?? SystemClock.wallMicroseconds()
        let page = try ObjectPage(Array(response.body), listed: listed) { address.key(of: $0) }
        guard page.next == nil || page.next != token else {
            throw ObjectStorageError(.corrupt, "the object storage's list of objects does not go on.")
        }
        return page
    }

    private func checked(_ key: String) throws(ObjectStorageError) -> String {
        guard ObjectAddress.isKey(address.name(of: key)) else {
            throw ObjectStorageError(
                .configuration,
                "an object's key must have 1 to 1,024 bytes, and no empty part, `.` or `..` between slashes.")
        }
        return key
    }

    private var missingBucket: ObjectStorageError {
        ObjectStorageError(
            .notFound,
            "the object storage at \(configuration.endpoint.authority) has no bucket \(configuration.bucket).")
    }
}
