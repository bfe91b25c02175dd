import FoundationEssentials
import SwiftProtobuf

/// What a request carries. Each signal has a path, a request and a response of its own.
package enum OTLPSignal: String, Sendable, CaseIterable {
    case logs
    case metrics

    /// The path below a receiver's address.
    package var path: String { "/v1/\(rawValue)" }

    /// What one request carries many of, and answers count.
    var items: String {
        switch self {
        case .logs: "log records"
        case .metrics: "data points"
        }
    }
}

/// The two forms of a request. Its answer has the same.
package enum OTLPEncoding: Sendable, CaseIterable {
    case protobuf
    case json

    /// By the header `Content-Type`; its parameters mean nothing here. `nil`: OTLP does not have this type.
    package init?(contentType: String) {
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        let name = String(decoding: type.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }, as: UTF8.self)
        guard let match = Self.allCases.first(where: { $0.contentType == name.lowercased() }) else { return nil }
        self = match
    }

    package var contentType: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        }
    }
}

/// A request of OTLP: decoded with limits, then freed of what the protocol forbids.
package protocol OTLPRequest: Message {
    static var signal: OTLPSignal { get }

    /// Removes the items that break a rule of the protocol, and says which. Nothing else of the request changes, except
    /// that identifiers and values which the protocol tells a receiver to ignore go away.
    mutating func removeForbidden() -> OTLPTally
}

extension OTLPRequest {
    /// - Parameter body: after inflation. An empty one is an empty request in binary Protobuf.
    /// - Throws: `.malformed`, `.tooLarge`.
    package static func decode(
        _ body: consuming [UInt8], as encoding: OTLPEncoding, limits: OTLPLimits = OTLPLimits()
    ) throws(OTLPError) -> Self {
        guard body.count <= limits.bodyBytes else {
            throw OTLPError(
                .tooLarge,
                "The request has \(body.count) bytes after inflation, and at most \(limits.bodyBytes) are accepted. "
                    + "Send less at a time.")
        }
        let shape = signal == .logs ? OTLPShape.logs : OTLPShape.metrics
        switch encoding {
        case .protobuf:
            try OTLPWireScan.check(body, shape: shape, limits: limits)
            var options = BinaryDecodingOptions()
            options.messageDepthLimit = limits.depth
            do { return try Self(serializedBytes: body, options: options) } catch {
                throw undecodable("binary Protobuf", error)
            }
        case .json:
            try OTLPJSONMapping.apply(to: &body, shape: shape, limits: limits)
            var options = JSONDecodingOptions()
            options.messageDepthLimit = limits.depth
            options.ignoreUnknownFields = true
            do { return try Self(jsonUTF8Bytes: body, options: options) } catch {
                throw undecodable("OTLP's JSON", error)
            }
        }
    }

    private static func undecodable(_ form: String, _ error: any Error) -> OTLPError {
        OTLPError(.malformed, "The request is not \(OTLPShape.name(of: signal)) in \(form): \(error).")
    }
}

extension OTLPShape {
    fileprivate static func name(of signal: OTLPSignal) -> String {
        all[signal == .logs ? logs : metrics].name
    }
}
