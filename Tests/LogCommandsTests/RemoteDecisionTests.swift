import CollectorAPI
import CommandKit
import Foundation
import Testing
import WireModel

@testable import CollectorClient
@testable import LogCommands

/// What is decided about a collector's logs without asking one.
@Suite struct RemoteDecisionTests {
    private static let both = ["WS1_DATA": "/d", "WS1_COLLECTOR": "http://h"]

    @Test(
        arguments: [
            ("/d", [], [:], .store), (nil, ["--collector"], [:], .collector), (nil, ["--device"], both, .collector),
            (nil, [], both, .store),
            (nil, [], ["WS1_COLLECTOR": "http://h"], .collector), (nil, [], ["WS1_COLLECTOR": ""], .store),
            (nil, [], [:], .store),
            ("/d", ["--device"], [:], nil), ("/d", [], both, .store),
        ] as [(String?, [String], [String: String], LogPlace?)])
    func `Flags override the environment`(
        _ data: String?, _ remote: [String], _ environment: [String: String], _ place: LogPlace?
    ) {
        #expect((try? LogPlace(data: data, remote: remote, environment: environment)) == place)
    }

    /// Chunks as `id: first...last`, and which of them are read together, in order.
    @Test(
        arguments: [
            ([(1, 1...10), (2, 11...20)], [["1"], ["2"]]), ([(2, 11...20), (1, 1...10)], [["1"], ["2"]]),
            ([(1, 1...10), (2, 10...20), (3, 21...30)], [["1", "2"], ["3"]]),
            ([(1, 1...100), (2, 5...6), (3, 50...120)], [["1", "2", "3"]]),
            ([(1, 1...10), (2, 1...10)], [["1", "2"]]), ([], []),
        ] as [([(Int, ClosedRange<UInt64>)], [[String]])])
    func `Chunks that may hold the same lines are read together`(
        _ chunks: [(Int, ClosedRange<UInt64>)], _ expected: [[String]]
    )
        throws
    {
        let sections = RemoteSection.sections(of: try chunks.map { try Self.chunk($0.0, $0.1) }, LogFilter())
        #expect(sections.map(\.ids) == expected)
        #expect(sections.allSatisfy { ($0.proof != nil) == ($0.ids.count == 1) })
    }

    @Test func `Logs of other programs, types and epochs share no line`() throws {
        let chunks = [
            try Self.chunk(1, 1...10, type: "crash"),
            try Self.chunk(2, 1...10, epoch: "ffffffff-0000-4000-8000-000000000000"),
            try Self.chunk(3, 1...10, application: "b"), try Self.chunk(4, 1...10),
        ]
        #expect(RemoteSection.sections(of: chunks, LogFilter()).map(\.ids) == [["4"], ["2"], ["1"], ["3"]])
        // Where lines are left out there is nothing to hold the rest against.
        #expect(RemoteSection.sections(of: chunks, LogFilter(level: .error)).allSatisfy { $0.proof == nil })
    }

    private static func chunk(
        _ id: Int, _ lines: ClosedRange<UInt64>, application: String = "a", type: String = "application",
        epoch: String = RemoteScript.epoch
    ) throws -> ChunkView {
        let json = """
            {"id":"\(id)","device":"d","organization":"o","application":"\(application)","type":"\(type)","upload":"u",\
            "number":1,"logEpoch":"\(epoch)","rawBytes":10,"storedBytes":5,"receivedAt":"2026-11-21T00:00:00.000000Z",\
            "firstTime":"2026-11-21T00:00:00.000000Z","lastTime":"2026-11-21T00:00:01.000000Z",\
            "firstLine":\(lines.lowerBound),"lastLine":\(lines.upperBound),"levels":{"error":1,"warning":0,\
            "information":9,"verbose":0},"sha256":"00"}
            """
        return try JSONDecoder().decode(ChunkView.self, from: Data(json.utf8))
    }

    @Test func `Every state of a request has a meaning`() throws {
        func standing(_ state: String) throws -> RequestStanding {
            let json = """
                {"id":"i","device":"d","kind":"request-logs","arguments":{},"issuedAt":"a","issuedBy":"b",\
                "expiresAt":"c","state":"\(state)","progress":0.1,"detail":"why","uploads":[{"upload":"u",\
                "state":"open","startedAt":"a","expiresAt":"c","chunks":4,"storedChunks":1,"missingChunks":3,\
                "goneChunks":0,"deletedChunks":0,"rawBytes":4000,"storedRawBytes":1000}]}
                """
            return RequestStanding(try JSONDecoder().decode(CommandView.self, from: Data(json.utf8)))
        }
        for state in ["queued", "received", "running", "not-now", "something new"] {
            #expect(try standing(state).meaning == .pending)
        }
        for state in ["failed", "expired", "unsupported"] {
            #expect(try standing(state).meaning == .failed("\(state): why"))
        }
        #expect(try standing("done").meaning == .done)
        #expect(try standing("running").progress == 0.25)
        #expect(try standing("running").text == "running, 1 of 4 chunks here, 1.0 kB of text: why")
    }

    @Test(arguments: [
        (TransportError.Code.timedOut, Int32(75)), (.nameResolution, 75), (.connectionClosed, 75), (.tls, 1),
        (.responseTooLarge, 1),
    ])
    func `A network that fails is tried again`(_ code: TransportError.Code, _ exit: Int32) {
        #expect(CommandError(CollectorClientError(TransportError(code, "m"), peer: "p")).exitCode == exit)
    }
}
