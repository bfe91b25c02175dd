import Foundation
import Gzip
import OTLP
import SwiftProtobuf
import Testing

/// The published vectors, as far as they are about a body: what comes before it is the HTTP server's.
@Suite struct OTLPVectorTests {
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        struct Request: Decodable {
            var method: String
            var path: String
            var headers: [String: String]
            var token: String
            var body: String?
        }

        struct Answer: Decodable {
            var status: [Int]
            var rejected: Int64?
            var message: String?
        }

        var name: String
        var rule: String
        var request: Request
        var answers: [Answer]

        var testDescription: String { name }

        var isAboutBody: Bool {
            request.method == "POST" && request.token == "valid" && signal != nil && encoding != nil
                && ["identity", "gzip"].contains(request.headers["Content-Encoding"] ?? "identity")
        }
        var signal: OTLPSignal? { OTLPSignal.allCases.first { $0.path == request.path } }
        var encoding: OTLPEncoding? { OTLPEncoding(contentType: request.headers["Content-Type"] ?? "") }
    }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Schemas/otlp/vectors/")

    static func vectors() throws -> [Vector] {
        try JSONDecoder().decode([Vector].self, from: Data(contentsOf: folder.appending(path: "vectors.json")))
    }

    @Test func `There are vectors of every rule, each with a name of its own`() throws {
        let vectors = try Self.vectors()
        #expect(vectors.count >= 60)
        #expect(Set(vectors.map(\.name)).count == vectors.count)
        #expect(vectors.count { $0.isAboutBody } >= 100)
    }

    @Test(arguments: try Self.vectors().filter(\.isAboutBody)) func `A vector's body gets the vector's answer`(
        vector: Vector
    ) throws {
        let signal = try #require(vector.signal)
        let encoding = try #require(vector.encoding)
        let expected = try #require(vector.answers.first)
        let body = try Data(contentsOf: Self.folder.appending(path: try #require(vector.request.body)))
        let answer = Self.answer(
            signal, encoding, Array(body), isGzip: vector.request.headers["Content-Encoding"] == "gzip")
        #expect(
            expected.status.contains(answer.status), "\(vector.rule): \(String(decoding: answer.body, as: UTF8.self))")
        guard answer.status == 200 else { return }
        let (rejected, message) = try Self.partialSuccess(signal, answer)
        #expect(rejected == expected.rejected, "\(vector.rule): \(message)")
        switch expected.message {
        case "none": #expect(message == "", "\(vector.rule)")
        case "some": #expect(message != "", "\(vector.rule)")
        default: Issue.record("vector \(vector.name) does not say whether there is a message")
        }
    }

    private static func answer(
        _ signal: OTLPSignal, _ encoding: OTLPEncoding, _ body: [UInt8], isGzip: Bool
    ) -> OTLPAnswer {
        do throws(OTLPError) {
            let limits = OTLPLimits()
            var body = body
            if isGzip {
                do throws(GzipError) {
                    body = try GzipCodec.decompress(
                        body, limits: InflateLimits(maximumBytes: limits.bodyBytes, maximumRatio: .max))
                } catch {
                    throw OTLPError(error.code == .limitExceeded ? .tooLarge : .malformed, "\(error)")
                }
            }
            switch signal {
            case .logs:
                var request = try OTLPLogsRequest.decode(body, as: encoding, limits: limits)
                return .accepted(signal, request.removeForbidden(), as: encoding)
            case .metrics:
                var request = try OTLPMetricsRequest.decode(body, as: encoding, limits: limits)
                return .accepted(signal, request.removeForbidden(), as: encoding)
            }
        } catch {
            return .refused(error, as: encoding)
        }
    }

    private static func partialSuccess(_ signal: OTLPSignal, _ answer: OTLPAnswer) throws -> (Int64, String) {
        switch signal {
        case .logs:
            let response: OTLPLogsResponse = try decoded(answer)
            return (response.partialSuccess.rejectedLogRecords, response.partialSuccess.errorMessage)
        case .metrics:
            let response: OTLPMetricsResponse = try decoded(answer)
            return (response.partialSuccess.rejectedDataPoints, response.partialSuccess.errorMessage)
        }
    }

    private static func decoded<Response: Message>(_ answer: OTLPAnswer) throws -> Response {
        switch answer.encoding {
        case .json: try Response(jsonUTF8Bytes: answer.body)
        case .protobuf: try Response(serializedBytes: answer.body)
        }
    }
}
