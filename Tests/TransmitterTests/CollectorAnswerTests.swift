import DeviceTestKit
import Foundation
import Testing
import WireModel
@testable import Transmitter

/// Who answered, and what it means.
@Suite struct CollectorAnswerTests {
    let collector = CollectorID.random()
    let incarnation = IncarnationID.random()

    private func classify(
        _ status: Int, own: Bool = true, version: String = "1.0.0", extra: [String: String] = [:],
        body: Data = Data("body".utf8)
    ) -> CollectorAnswer {
        let headers = own ? TransportResponse.collectorHeaders(collector, incarnation, version: version) : [:]
        return CollectorAnswer.classify(
            TransportResponse(status: status, headers: headers.merging(extra) { $1 }, body: body), expected: collector)
    }

    @Test func `Only 200 from our collector is success`() {
        #expect(classify(200) == .success(Data("body".utf8)))
        for status in [100, 201, 204, 301, 302, 304, 404, 405, 418, 500, 599, 600] {
            if case .success = classify(status) { Issue.record("\(status) is taken for success") }
        }
    }

    @Test(arguments: [200, 302, 401, 403, 404, 500])
    func `Without a collector's headers it is unreachable`(status: Int) {
        guard case .unreachable = classify(status, own: false) else { Issue.record("a stranger is believed"); return }
    }

    @Test func `A proxy's 413, 429 and 503 are honoured`() {
        let who = "something between this device and the collector, such as a proxy, answered HTTP"
        #expect(classify(413, own: false) == .tooLarge("\(who) 413"))
        #expect(classify(429, own: false, extra: ["retry-after": "9"]) == .retry(after: .seconds(9), "\(who) 429"))
        #expect(classify(503, own: false, extra: ["retry-after": "soon"]) == .retry(after: nil, "\(who) 503"))
        #expect(classify(413) == .tooLarge("the collector answered HTTP 413"))
    }

    @Test(arguments: [("2.0.0", false), ("0.9", false), ("1.99.1", true), ("", false), ("x", false)])
    func `Another major version is held`(version: String, compatible: Bool) {
        if case .success = classify(200, version: version) { #expect(compatible) } else { #expect(!compatible) }
    }

    @Test func `Another collector at the address is not ours`() {
        let other = CollectorID.random()
        let headers = TransportResponse.collectorHeaders(other, incarnation)
        #expect(
            CollectorAnswer.classify(TransportResponse(status: 200, headers: headers), expected: collector)
                == .otherCollector(other))
        #expect(
            CollectorAnswer.classify(TransportResponse(status: 200, headers: headers), expected: nil)
                == .success(Data()))
    }

    @Test func `A collector ID that is none is a stranger`() {
        let answer = classify(200, extra: [WireNames.collectorHeader.lowercased(): "nonsense"])
        guard case .unreachable = answer else { Issue.record("\(answer)"); return }
    }

    @Test func `Every refusal has its meaning`() {
        guard case .credentialRefused = classify(401) else { Issue.record("401"); return }
        guard case .forbidden = classify(403) else { Issue.record("403"); return }
        guard case .tooLarge = classify(413) else { Issue.record("413"); return }
        guard case .refused = classify(400) else { Issue.record("400"); return }
        guard case .refused = classify(422) else { Issue.record("422"); return }
        for status in [408, 415, 418, 429, 600] {
            guard case .retry = classify(status) else { Issue.record("\(status)"); return }
        }
        for status in [500, 502, 503, 599] {
            guard case .failing = classify(status) else { Issue.record("\(status)"); return }
        }
        guard case .full = classify(507) else { Issue.record("507"); return }
        for status in [404, 405, 410] {
            guard case .notFound = classify(status) else { Issue.record("\(status)"); return }
        }
        #expect(classify(409) == .conflict("the collector answered HTTP 409"))
        #expect(classify(204) == .empty)
        #expect(classify(304) == .notModified)
        #expect(classify(200, extra: ["etag": "\"7\""]) == .success(Data("body".utf8), etag: "\"7\""))
    }

    @Test func `A conflict says in what it consists`() throws {
        let problem = Problem(status: 409, code: Problem.Code.deviceConflict, title: "taken")
        let answer = classify(
            409, extra: ["content-type": "application/problem+json"], body: try JSONEncoder().encode(problem))
        #expect(answer == .conflict("the collector answered HTTP 409 device-conflict: taken", code: "device-conflict"))
    }

    @Test func `Too many open uploads concern uploads that begin and no others`() throws {
        let problem = Problem(
            status: 429, code: .tooManyUploads, title: "too many", retryable: true, retryAfterMs: 60_000)
        let answer = classify(
            429, extra: ["content-type": "application/problem+json"], body: try JSONEncoder().encode(problem))
        #expect(
            answer
                == .full(after: .seconds(60), "the collector answered HTTP 429 too-many-uploads: too many"))
    }

    @Test(arguments: [Problem.Code.recordQuotaExceeded, .tooManyEpochs])
    func `A quota of the day is a wait in which nothing is given up`(code: Problem.Code) throws {
        let problem = Problem(status: 429, code: code, title: "used up", retryable: true, retryAfterMs: 900_000)
        let answer = classify(
            429, extra: ["content-type": "application/problem+json"], body: try JSONEncoder().encode(problem))
        #expect(
            answer == .retry(after: .seconds(900), "the collector answered HTTP 429 \(code.rawValue): used up"))
    }

    @Test func `The problem says why and when`() throws {
        let problem = Problem(
            status: 503, code: .storeUnavailable, title: "no", detail: "disk full", retryable: true,
            retryAfterMs: 1_500)
        let body = try JSONEncoder().encode(problem)
        let answer = classify(
            503, extra: ["content-type": "application/problem+json", "retry-after": "60"], body: body)
        #expect(
            answer
                == .failing(after: .milliseconds(1_500), "the collector answered HTTP 503 store-unavailable: disk full")
        )
    }
}
