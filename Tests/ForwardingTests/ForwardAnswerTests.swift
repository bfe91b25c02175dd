import Foundation
import OTLP
import SwiftProtobuf
import Testing
import WireModel

@testable import Forwarding

@Suite struct ForwardAnswerTests {
    private static func answer(
        _ status: Int, _ headers: [String: String] = [:], _ body: Data = Data(), hiding: [String] = [],
        at now: Int64 = 0
    ) -> ForwardAnswer {
        ForwardAnswer(
            TransportResponse(status: status, headers: headers, body: body), to: .logs, hiding: hiding, at: now)
    }

    @Test(arguments: [429, 502, 503, 504])
    func `The four statuses that may pass are sent again`(status: Int) {
        #expect(Self.answer(status) == .later("status \(status)", retryAfter: nil))
    }

    @Test(arguments: [400, 402, 406, 408, 409, 410, 415, 422, 500, 501, 505, 507, 599])
    func `Every other refusal is for good`(status: Int) {
        #expect(Self.answer(status) == .refused("status \(status)"))
    }

    @Test(arguments: [301, 307, 401, 403, 404, 405, 407])
    func `A wrong address or token is no fault of the records`(status: Int) {
        guard case .misconfigured(let words) = Self.answer(status) else {
            Issue.record("\(Self.answer(status))")
            return
        }
        #expect(words.hasPrefix("status \(status)"))
    }

    @Test func `Too large is told apart`() { #expect(Self.answer(413) == .tooLarge("status 413")) }

    @Test func `Retry-After is read in seconds and as a date`() {
        #expect(Self.answer(503, ["retry-after": "7"]) == .later("status 503", retryAfter: .seconds(7)))
        // Wed, 25 Nov 2026 15:43:45 GMT.
        let date = Int64(1_795_621_425) * 1_000_000
        let headers = ["retry-after": "Wed, 25 Nov 2026 15:43:45 GMT"]
        #expect(Self.answer(429, headers, at: date - 30_000_000) == .later("status 429", retryAfter: .seconds(30)))
        #expect(Self.answer(429, headers, at: date + 30_000_000) == .later("status 429", retryAfter: .zero))
        #expect(Self.answer(503, ["retry-after": "soon"]) == .later("status 503", retryAfter: nil))
    }

    @Test func `A partial success says how many were rejected`() throws {
        var response = OTLPLogsResponse()
        response.partialSuccess.rejectedLogRecords = 3
        response.partialSuccess.errorMessage = "too old"
        #expect(Self.answer(200, [:], try response.serializedData()) == .accepted(rejected: 3, message: "too old"))
        #expect(Self.answer(200) == .accepted(rejected: 0, message: ""))
        #expect(Self.answer(202, [:], Data("<html>".utf8)) == .accepted(rejected: 0, message: ""))
        response.partialSuccess.rejectedLogRecords = -5
        guard case .accepted(let rejected, _) = Self.answer(200, [:], try response.serializedData()) else {
            Issue.record("not accepted")
            return
        }
        #expect(rejected == 0)
    }

    @Test func `A receiver that repeats the token does not get it into messages`() throws {
        let headers = try ForwardHeaders("Authorization: Bearer s3cr3t-t0k3n", file: "f")
        var status = OTLPStatus()
        status.message = "unknown token s3cr3t-t0k3n\nof Bearer s3cr3t-t0k3n" + String(repeating: "x", count: 1000)
        let answer = Self.answer(
            401, ["content-type": "application/x-protobuf"], try status.serializedData(), hiding: headers.secrets)
        guard case .misconfigured(let words) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(!words.contains("s3cr3t") && !words.contains("\n") && words.count < 500)
        #expect(words.hasPrefix("status 401: unknown token *** of ***"))
    }

    @Test func `Headers are read, and what is wrong is named without its value`() throws {
        let text = "# a comment\n\nAuthorization:  Bearer abc \nX-Scope-OrgID: 1\n"
        let headers = try ForwardHeaders(text, file: "f")
        #expect(headers.headers.map(\.name) == ["Authorization", "X-Scope-OrgID"])
        #expect(headers.headers.map(\.value) == ["Bearer abc", "1"])
        for (bad, words) in [
            ("secret", "expected `Name: value`"), ("a b: secret", "no name of a header"), (": secret", "no name"),
            ("Content-Type: secret", "sets `Content-Type` itself"), ("A:", "has no value"), ("A: sécret", "characters"),
            ("A: sec\u{7}ret", "characters"), (String(repeating: "A: secret\n", count: 33), "more than 32"),
        ] {
            let error = #expect(throws: ForwardHeaders.Invalid.self) { try ForwardHeaders(bad, file: "f") }
            #expect(error?.message.contains(words) == true && error?.message.contains("secret") == false)
            #expect(error?.message.hasPrefix("f, line ") == true)
        }
        #expect(throws: ForwardHeaders.Invalid.self) { try ForwardHeaders(file: "/nowhere/headers") }
    }
}
