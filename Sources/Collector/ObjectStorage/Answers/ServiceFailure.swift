import FoundationEssentials
import HTTPConnection
import WireModel

/// An answer of the storage that is no success: what it means, and whether the same request may succeed soon.
struct ServiceFailure: Sendable {
    let status: Int
    /// S3's word, such as `NoSuchKey`; `nil` if the answer has none, as those to HEAD.
    let code: String?
    /// The region that the bucket is in, where the answer names it.
    private let region: String?
    /// The Date header.
    private let date: String?

    init(_ response: TransportResponse) {
        status = response.status
        // The rest of the answer is not used: it may repeat parts of the request.
        let element = response.body.count <= 65_536 ? try? XMLElement(Array(response.body)) : nil
        func word(_ text: String?) -> String? {
            guard let text, (1...64).contains(text.utf8.count) else { return nil }
            let isWord = text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."): true
                default: false
                }
            }
            return isWord ? text : nil
        }
        code = element?.name == "Error" ? word(element?.text(of: "Code")) : nil
        region = word(response.headers["x-amz-bucket-region"] ?? element?.text(of: "Region"))
        date = response.headers["date"]
    }

    /// The object does not exist, and the bucket does. An answer to HEAD does not distinguish them.
    var isMissingObject: Bool { status == 404 && (code == nil || code == "NoSuchKey") }

    var isTransient: Bool {
        switch code {
        case "RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "InternalError", "OperationAborted":
            true
        default: status == 429 || status == 408 || status >= 500 && status != 501
        }
    }

    /// Whether other credentials may help.
    var isOfCredentials: Bool {
        switch code {
        case "RequestTimeTooSkewed": false
        case "ExpiredToken", "InvalidToken", "TokenRefreshRequired": true
        default: status == 401 || status == 403
        }
    }

    private var answer: String { code.map { "\(status) \($0)" } ?? "\(status)" }

    /// - Parameters:
    ///   - subject: what was tried on what.
    ///   - now: this machine's time, for an error about the clock.
    func error(
        _ subject: String, configuration: ObjectStorageConfiguration, now: String
    ) -> ObjectStorageError {
        let peer = configuration.endpoint.authority
        func error(_ code: ObjectStorageError.Code, _ text: String) -> ObjectStorageError {
            ObjectStorageError(code, "\(subject): the object storage at \(peer) \(text)")
        }
        if isTransient {
            return error(
                .unavailable, "is overloaded or broken (it answered \(answer)). Look at its state and its log.")
        }
        switch code {
        case "NoSuchBucket":
            return error(.notFound, "has no bucket \(configuration.bucket). Create it, or mend the setting.")
        case "RequestTimeTooSkewed":
            let theirs = date.map { "; the storage says it is \($0.prefix(64))" } ?? ""
            return error(
                .refused,
                """
                finds that the clock of this machine differs too much from its own (here it is \(now)\(theirs)). Set \
                the clock of the one that is wrong; use NTP.
                """
            )
        case "SignatureDoesNotMatch":
            return error(
                .refused,
                """
                finds the signature wrong (\(answer)). Check the secret access key, the region, and whether a proxy on \
                the way changes requests.
                """
            )
        case "InvalidAccessKeyId":
            return error(.refused, "does not know the access key (\(answer)). Check the credentials.")
        case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
            return error(.refused, "finds the session token expired or invalid (\(answer)). Renew the credentials.")
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect",
            "IllegalLocationConstraintException",
            "InvalidRegionName":
            return error(.configuration, wrongRegion(configuration))
        case "BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch":
            return error(
                .corrupt, "received other bytes than were sent (\(answer)). Check the network and proxies on the way.")
        default: break
        }
        switch status {
        case 401, 403:
            return error(
                .refused,
                """
                denies access (\(answer)). The credentials need the right to list the bucket, and to read, write and \
                delete objects in it.
                """
            )
        case 404: return error(.notFound, "has no bucket \(configuration.bucket), or nothing of the kind (\(answer)).")
        case 300..<400: return error(.configuration, wrongRegion(configuration))
        default: return error(.refused, "did not accept the request (it answered \(answer)).")
        }
    }

    private func wrongRegion(_ configuration: ObjectStorageConfiguration) -> String {
        let theirs = region.map { "; the storage names \($0)" } ?? ""
        return
            """
            wants another region or address (it answered \(answer); the region is set to \
            \(configuration.region)\(theirs)). Mend the region or the endpoint URL.
            """
    }
}
