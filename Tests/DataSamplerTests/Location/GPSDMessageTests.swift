import Foundation
import TelemetryBasics
import Testing

@testable import DataSampler

@Suite struct GPSDMessageTests {
    private func message(_ text: String) -> GPSDMessage { GPSDMessage(Data(text.utf8)) }

    private func answer(_ text: String) -> GPSDPoll? {
        guard case .poll(let poll) = message(text) else { return nil }
        return poll
    }

    @Test func `An answer of gpsd 3 is read`() throws {
        let poll = try #require(
            answer(
                """
                {"class":"POLL","time":"2026-11-28T21:38:50.207Z","active":1,"tpv":[{"class":"TPV",\
                "device":"/dev/pts/1","mode":3,"time":"2025-06-08T10:34:04.000Z","ept":0.005,\
                "lat":52.5167,"lon":13.3781,"altHAE":592.3,\
                "altMSL":545.4,"alt":545.4,"epx":11.4,"epy":10.1,"epv":34.5,"track":84.4,"speed":11.524,"eph":17.1}],\
                "gst":[],"sky":[{"class":"SKY","device":"/dev/pts/1","nSat":3,"uSat":2,"satellites":[{"PRN":4,\
                "used":true},{"PRN":5,"used":true},{"PRN":9,"used":false}]}]}
                """))
        let report = try #require(poll.best)
        let satellites = poll.satellites(of: report.device)
        #expect(satellites == .init(visible: 3, used: 2))
        #expect(
            report.fix(satellites)
                == LocationFix(
                    latitude: 52.5167, longitude: 13.3781, altitude: 545.4, horizontalAccuracy: 17.1,
                    verticalAccuracy: 34.5, speed: 11.524, course: 84.4, mode: .threeDimensional,
                    satellites: .init(visible: 3, used: 2),
                    time: try #require(Timestamp.parse("2025-06-08T10:34:04Z"))))
    }

    @Test func `Of several receivers the one counts that knows most`() throws {
        let poll = try #require(
            answer(
                """
                {"class":"POLL","active":3,"tpv":[{"device":"a","mode":2,"time":"2026-01-01T00:00:09Z"},\
                {"device":"b","mode":3,"time":"2026-01-01T00:00:01Z"},{"device":"c","mode":3,\
                "time":"2026-01-01T00:00:02Z"},{"device":"d","mode":1}],"sky":[{"device":"b","nSat":7,"uSat":4}]}
                """))
        #expect(poll.best?.device == "c")
        #expect(poll.satellites(of: "c") == nil && poll.satellites(of: "b") == .init(visible: 7, used: 4))
    }

    @Test func `A fix of two dimensions has no altitude, and older versions give their error by axis`() throws {
        let poll = try #require(
            answer(
                #"{"class":"POLL","tpv":[{"mode":2,"time":"2026-01-01T00:00:00Z","lat":1,"lon":2,"alt":9,"#
                    + #""epx":3,"epy":4}]}"#
            ))
        let fix = try #require(poll.best?.fix(nil))
        #expect(fix.altitude == nil && fix.horizontalAccuracy == 5 && fix.mode == .twoDimensional)
    }

    /// What a broken or hostile program sends: no trap, and no position.
    @Test(arguments: [
        "", "{", "{}", "null", "[]", "[{\"class\":\"POLL\"}]", "\u{0}", "{\"class\":7}", "{\"class\":\"POLL\"}",
        #"{"class":"POLL","tpv":{}}"#, #"{"class":"POLL","tpv":[7,null,"x",[]]}"#,
        #"{"class":"POLL","tpv":"x","sky":1}"#,
        #"{"class":"POLL","tpv":[{"mode":"3","time":"2026-01-01T00:00:00Z","lat":1,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"time":"2026-01-01T00:00:00Z","lat":1,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":-1,"time":"2026-01-01T00:00:00Z","lat":1,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":99999999999999999999,"time":"2026-01-01T00:00:00Z","lat":1,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"2026-01-01T00:00:00Z","lat":NaN,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"2026-01-01T00:00:00Z","lat":1e999,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"2026-01-01T00:00:00Z","lat":91,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"2026-01-01T00:00:00Z","lat":"1","lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"2026-01-01T00:00:00Z","lat":true,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"2026-01-01T00:00:00Z","lat":1}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":7,"lat":1,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"yesterday","lat":1,"lon":2}]}"#,
        #"{"class":"POLL","tpv":[{"mode":3,"time":"9999999-01-01T00:00:00Z","lat":1,"lon":2}]}"#,
        #"{"class":"TPV","mode":3,"time":"2026-01-01T00:00:00Z","lat":1,"lon":2}"#,
        #"{"class":"POLL","active":1.5,"tpv":null}"#, "{\"class\":\"POLL\",\"tpv\":[{\"mode\":3",
        String(repeating: "[", count: 60_000), #"{"class":"# + String(repeating: "{\"a\":", count: 10_000),
    ])
    func `What is no report of a position gives none`(line: String) {
        #expect(answer(line)?.best?.fix(nil) == nil)
    }

    @Test func `Wrong figures beside a position leave the position`() throws {
        let poll = try #require(
            answer(
                """
                {"class":"POLL","tpv":[{"mode":3,"time":"2026-01-01T00:00:00Z","lat":1,"lon":2,"speed":"fast",\
                "track":-7,"eph":-1,"epv":[],"alt":null}],"sky":[{"satellites":[{"used":"yes"},3]}]}
                """))
        #expect(
            poll.best?.fix(nil)
                == LocationFix(
                    latitude: 1, longitude: 2, mode: .threeDimensional,
                    time: try #require(Timestamp.parse("2026-01-01T00:00:00Z"))))
    }

    @Test func `Version and error are read, and a text of a stranger is one line`() {
        #expect(message(#"{"class":"VERSION","release":"3.22"}"#) == .version("3.22"))
        #expect(message(#"{"class":"ERROR","message":"no\nsuch"}"#) == .error("no such"))
        #expect(message(#"{"class":"DEVICES","devices":[]}"#) == .other)
    }
}
