/// One operation of the HTTP API for people: its method, its path, and the type of its answer. The console performs it
/// within the collector; over HTTP the answer is JSON. The names are those of `Schemas/api/openapi.yaml`
/// (`operationId`).
package struct APIOperation<Answer: Codable & Sendable>: Sendable {
    package let method: String
    package let path: String

    package init(_ method: String, _ path: String) {
        self.method = method
        self.path = path
    }
}

/// The answer of an operation that has no body.
package struct NoAnswer: Codable, Sendable {
    package init() {}
}
