import Foundation
import OTLP
import SwiftProtobuf
import Testing

@Suite struct OTLPAnswerTests {
    private func text(_ answer: OTLPAnswer) -> String { String(decoding: answer.body, as: UTF8.self) }

    @Test func `Full success leaves everything unset`() {
        for signal in OTLPSignal.allCases {
            #expect(OTLPAnswer.accepted(signal, OTLPTally(), as: .protobuf).body == [])
            #expect(text(.accepted(signal, OTLPTally(), as: .json)) == "{}")
        }
    }

    @Test(arguments: OTLPEncoding.allCases) func `A partial success counts what was rejected`(form: OTLPEncoding) throws
    {
        var tally = OTLPTally()
        tally.add(items: 3)
        tally.reject(.timeMissing, items: 2, at: "here")
        let answer = OTLPAnswer.accepted(.metrics, tally, as: form)
        #expect(answer.status == 200)
        let response =
            form == .json
            ? try OTLPMetricsResponse(jsonUTF8Bytes: answer.body)
            : try OTLPMetricsResponse(serializedBytes: answer.body)
        #expect(response.partialSuccess.rejectedDataPoints == 2)
        #expect(response.partialSuccess.errorMessage == tally.message(.metrics))
        if form == .json { #expect(text(answer).contains(#""rejectedDataPoints":"2""#)) }
    }

    @Test func `A warning rejects nothing and has a text`() throws {
        var tally = OTLPTally()
        tally.add(items: 1)
        tally.warn(.identifierLength, at: "here")
        let response = try OTLPLogsResponse(serializedBytes: OTLPAnswer.accepted(.logs, tally, as: .protobuf).body)
        #expect(response.hasPartialSuccess)
        #expect(response.partialSuccess.rejectedLogRecords == 0)
        #expect(response.partialSuccess.errorMessage.hasPrefix("All log records were accepted, with warnings."))
    }

    @Test(arguments: [
        (429, true, 429), (502, true, 502), (503, true, 503), (504, true, 504), (500, true, 503), (408, true, 503),
        (507, true, 503), (400, false, 400), (413, false, 413), (401, false, 401), (500, false, 500),
        (503, false, 400),
    ])
    func `Only the four statuses say that the same may be sent again`(status: Int, mayPass: Bool, answered: Int) {
        let answer = OTLPAnswer.refused(
            status: status, mayPass: mayPass, message: "why", retryAfterSeconds: 7, as: .protobuf)
        #expect(answer.status == answered)
        #expect(OTLPAnswer.retryable.contains(answer.status) == mayPass)
        #expect(answer.retryAfterSeconds == (mayPass ? 7 : nil))
    }

    @Test func `A refusal is a status in the request's encoding`() throws {
        let json = OTLPAnswer.refused(OTLPError(.tooLarge, "much"), as: .json)
        #expect(json.status == 413)
        #expect(json.encoding == .json)
        #expect(text(json) == #"{"code":8,"message":"much"}"#)
        let binary = OTLPAnswer.refused(OTLPError(.malformed, "no"), as: .protobuf)
        #expect(binary.status == 400)
        let status = try OTLPStatus(serializedBytes: binary.body)
        #expect(status.code == 3)
        #expect(status.message == "no")
        #expect(OTLPAnswer.refused(status: 415, mayPass: false, message: "x", as: nil).encoding == .protobuf)
    }

    @Test func `A long text is cut`() throws {
        let answer = OTLPAnswer.refused(
            status: 400, mayPass: false, message: String(repeating: "é", count: 100), as: .protobuf,
            limits: OTLPLimits(answerCharacters: 10))
        #expect(try OTLPStatus(serializedBytes: answer.body).message == String(repeating: "é", count: 9) + "…")
    }
}
