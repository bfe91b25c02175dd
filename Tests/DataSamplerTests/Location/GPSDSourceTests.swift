import Foundation
import TestKit
import Testing

@testable import DataSampler

/// The client of gpsd against a server that answers as a test says.
@Suite(.timeLimit(.minutes(5))) struct GPSDSourceTests {
    private let time = ManualBootTime()

    private func source(
        _ server: ScriptedGPSD, patience: UInt64 = 4_000_000, repeatAfter: UInt64 = 1_000
    ) throws -> GPSDSource {
        let time = time
        return GPSDSource(try server.address, patience: patience, repeatAfter: repeatAfter) {
            // The server lives as long as its client.
            withExtendedLifetime(server) { time.now }
        }
    }

    /// For a server that passes a second with each answer: after the third there is too little time for another, and
    /// enough for an answer that is read late.
    private func hasty(_ server: ScriptedGPSD) throws -> GPSDSource {
        try source(server, patience: 3_150_000, repeatAfter: 100_000)
    }

    private static func report(second: Int, mode: Int = 3, latitude: Double = 52.5) -> String {
        let time = "2025-06-08T10:34:\(second < 10 ? "0" : "")\(second).000Z"
        return #"{"class":"POLL","active":1,"tpv":[{"device":"x","mode":\#(mode),"time":"\#(time)","lat":\#(latitude),"#
            + #""lon":13.4}],"sky":[{"device":"x","nSat":9,"uSat":7}]}"#
    }

    private static func isFix(_ observation: LocationObservation) -> Bool {
        if case .fix = observation { true } else { false }
    }

    private static func loss(_ observation: LocationObservation) -> LocationLoss? {
        if case .lost(let loss) = observation { loss } else { nil }
    }

    @Test func `gpsd is told to run its receivers and not to report, then asked once for each question`() async throws {
        let server = ScriptedGPSD { _, poll in .line(Self.report(second: poll)) }
        let source = try source(server)
        // The first time has not advanced yet, so it is asked a second time.
        #expect(Self.isFix(await source.locate()))
        for _ in 1...3 {
            time.advance(seconds: 1)
            #expect(Self.isFix(await source.locate()))
        }
        #expect(
            server.requests.value == [["?WATCH={\"enable\":true};"] + Array(repeating: "?POLL;", count: 5)])
        await source.rest()
        try await server.requests.until { $0[0].last == "closed" }
    }

    @Test func `A lost fix is said with its satellites, and the old position is not given again`() async throws {
        let server = ScriptedGPSD { _, poll in .line(Self.report(second: poll, mode: poll < 2 ? 3 : 1)) }
        let source = try source(server)
        #expect(Self.isFix(await source.locate()))
        let lost = Self.loss(await source.locate())
        #expect(lost?.hasReceiver == true && lost?.satellites == .init(visible: 9, used: 7))
        #expect(lost?.reason == "the receiver has no fix")
    }

    @Test func `The last fix of a receiver that fell silent is lost after ten seconds`() async throws {
        let server = ScriptedGPSD { _, poll in .line(Self.report(second: min(poll, 1))) }
        let source = try source(server)
        #expect(Self.isFix(await source.locate()))
        time.advance(seconds: 10)
        #expect(Self.isFix(await source.locate()))
        time.advance(seconds: 1)
        let lost = Self.loss(await source.locate())
        #expect(lost?.reason == "the receiver is silent since 11 s: its last fix is old" && lost?.hasReceiver == true)
    }

    @Test func `A fix that gpsd still has of a receiver that is gone is never given`() async throws {
        let server = ScriptedGPSD { _, poll in
            // The device's clock passes while gpsd answers the same.
            self.time.advance(seconds: 1)
            return .line(Self.report(second: 7))
        }
        let lost = Self.loss(await (try hasty(server)).locate())
        #expect(lost?.reason == "the receiver's time has not advanced yet")
    }

    @Test func `A receiver that is there and sends nothing yet is waited for`() async throws {
        let none = #"{"class":"POLL","active":0,"tpv":[],"sky":[]}"#
        let server = ScriptedGPSD { _, poll in .line(poll < 3 ? none : Self.report(second: poll)) }
        #expect(Self.isFix(await (try source(server)).locate()))
    }

    @Test func `Without a receiver that sends the reason says so, and nothing is known`() async throws {
        let server = ScriptedGPSD { _, _ in
            self.time.advance(seconds: 1)
            return .line(#"{"class":"POLL","active":0,"tpv":[],"sky":[]}"#)
        }
        let lost = Self.loss(await (try hasty(server)).locate())
        #expect(lost?.hasReceiver == false && lost?.reason.contains("has no receiver that sends") == true)
    }

    @Test func `An answer may come byte by byte, after other messages`() async throws {
        let server = ScriptedGPSD { _, poll in
            let text = "{\"class\":\"DEVICES\",\"devices\":[]}\r\nnonsense\n\n\(Self.report(second: poll))\n"
            return .init(pieces: text.utf8.map { Data([$0]) })
        }
        #expect(Self.isFix(await (try source(server)).locate()))
    }

    /// What ends a connection, and what the reason then says.
    @Test(arguments: [
        (ScriptedGPSD.Answer(pieces: [Data(repeating: 0x20, count: 100_000)]), "a line of more than 65536 bytes"),
        (.init(pieces: [Data(repeating: 0x0A, count: 1_000)]), "more than 64 lines for one answer"),
        (.line(#"{"class":"ERROR","message":"no"}"#), "refuses to be asked: no"),
        (.init(closes: true), "closed the connection"),
        (.nothing, "did not answer in time"),
    ])
    func `Whatever a server does, a question ends with a reason`(answer: ScriptedGPSD.Answer, reason: String)
        async throws
    {
        let server = ScriptedGPSD { _, _ in answer }
        let lost = Self.loss(await (try source(server, patience: 300_000)).locate())
        #expect(lost?.hasReceiver == false)
        #expect(lost?.reason.contains(reason) == true, "\(lost?.reason ?? "a fix")")
    }

    @Test func `Another program at the address is named, and gets no position from us`() async throws {
        let server = ScriptedGPSD(greeting: "220 mail.example ESMTP") { _, _ in .nothing }
        let lost = Self.loss(await (try source(server)).locate())
        #expect(lost?.reason.contains("is not gpsd: correct the setting gpsd") == true)
    }

    @Test func `After a failure it connects again, not at once but ever more rarely`() async throws {
        let server = ScriptedGPSD { connection, poll in
            connection < 2 ? .init(closes: true) : .line(Self.report(second: poll))
        }
        let source = try source(server)
        #expect(Self.loss(await source.locate())?.reason.contains("closed the connection") == true)
        // The pause after the first failure is a second, after the second two.
        #expect(Self.loss(await source.locate())?.reason.contains("closed the connection") == true)
        #expect(server.requests.value.count == 1)
        time.advance(seconds: 1)
        _ = await source.locate()
        #expect(server.requests.value.count == 2)
        time.advance(seconds: 1)
        _ = await source.locate()
        #expect(server.requests.value.count == 2)
        time.advance(seconds: 1)
        #expect(Self.isFix(await source.locate()))
    }

    @Test func `Where nobody listens, the reason says what to do`() async throws {
        let server = ScriptedGPSD { _, _ in .nothing }
        let source = try source(server)
        server.end()
        let lost = Self.loss(await source.locate())
        #expect(lost?.hasReceiver == false)
        #expect(lost?.reason.hasSuffix("install and start gpsd, or correct the setting gpsd") == true)
    }

    @Test func `A connection begun anew does not believe the fix of the former one`() async throws {
        let server = ScriptedGPSD { _, poll in .line(Self.report(second: 30 + poll)) }
        let source = try source(server)
        #expect(Self.isFix(await source.locate()))
        await source.rest()
        #expect(Self.isFix(await source.locate()))
        try await server.requests.until { $0.count == 2 }
        #expect(server.requests.value[1].filter { $0 == "?POLL;" }.count == 2)
    }
}
