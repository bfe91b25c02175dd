import FoundationEssentials
import WireModel

/// A route of the collector as it is called: the parts of its path, its query, and a body of JSON.
package struct CollectorCall: Sendable {
    package var method: TransportRequest.Method
    /// Names between the slashes after `/api/v1`, unencoded.
    package var path: [String]
    package var query: [(name: String, value: String)]
    package var headers: [(name: String, value: String)]
    package var body: Data?
    /// A longer answer is an error.
    package var maximumAnswerBytes = 4 << 20

    /// - Parameter query: items with `nil` are left out.
    package init(
        _ method: TransportRequest.Method = .get, _ path: String..., query: [(name: String, value: String?)] = [],
        headers: [(name: String, value: String)] = [], body: Data? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query.compactMap { item in item.value.map { (item.name, $0) } }
        self.headers = headers
        self.body = body
    }

    /// Path and query as a request has them.
    package var target: String {
        let path = "/api/v1" + path.map { "/" + LogQuery.encoded($0) }.joined()
        guard !query.isEmpty else { return path }
        return path + "?" + query.map { "\($0.name)=\(LogQuery.encoded($0.value))" }.joined(separator: "&")
    }
}

extension CollectorClient {
    /// Calls a route, and returns the body of its answer.
    ///
    /// A call with a key is repeated if its answer was lost, as ``post(_:_:key:)`` is.
    /// - Parameter key: the `Idempotency-Key` of a POST; `nil` for a call that is made once.
    package func call(_ call: CollectorCall, key: String? = nil) async throws(CollectorClientError) -> Data {
        if let key, call.method == .post {
            return try await repeating(call.target, call.body ?? Data("{}".utf8), key: key)
        }
        var headers = call.headers.map { ($0.name, $0.value) }
        if call.body != nil { headers.append(("Content-Type", WireNames.json)) }
        return try await send(
            call.method, call.target, headers: headers, body: call.body, maximumAnswerBytes: call.maximumAnswerBytes)
    }
}
