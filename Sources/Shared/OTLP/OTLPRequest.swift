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
        _ = try scan(&body, as: encoding, limits: limits)
        return try decodeScanned(body, as: encoding, limits: limits)
    }

    /// - Parameters:
    ///   - body: after inflation.
    ///   - admit: gets the number of elements that decoding will make, before it does. What it throws ends the
    ///     decoding.
    /// - Throws: `OTLPError`, and what `admit` throws.
    package static func decode(
        _ body: consuming [UInt8], as encoding: OTLPEncoding, limits: OTLPLimits, admit: (Int) throws -> Void
    ) throws -> Self {
        try admit(try scan(&body, as: encoding, limits: limits))
        return try decodeScanned(body, as: encoding, limits: limits)
    }

    private static var shape: Int { signal == .logs ? OTLPShape.logs : OTLPShape.metrics }

    private static func scan(
        _ body: inout [UInt8], as encoding: OTLPEncoding, limits: OTLPLimits
    ) throws(OTLPError) -> Int {
        guard body.count <= limits.bodyBytes else {
            throw OTLPError(
                .tooLarge,
                "The request has \(body.count) bytes after inflation, and at most \(limits.bodyBytes) are accepted. "
                    + "Send less at a time.")
        }
        return switch encoding {
        case .protobuf: try OTLPWireScan.check(body, shape: shape, limits: limits)
        case .json: try OTLPJSONMapping.apply(to: &body, shape: shape, limits: limits)
        }
    }

    private static func decodeScanned(
        _ body: [UInt8], as encoding: OTLPEncoding, limits: OTLPLimits
    ) throws(OTLPError) -> Self {
        switch encoding {
        case .protobuf:
            var options = BinaryDecodingOptions()
            options.messageDepthLimit = limits.depth
            do { return try Self(serializedBytes: body, options: options) } catch {
                throw undecodable("binary Protobuf", error)
            }
        case .json:
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
