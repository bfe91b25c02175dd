import Testing
import WireModel

@testable import HTTPConnection

@Suite struct TransportResponseDateTests {
    @Test func `The time of a header is read`() {
        #expect(TransportResponse.time(ofHeader: "Sat, 21 Nov 2026 00:01:00 GMT") == 1_795_219_260_000_000)
        for text in [
            "", "Sat, 21 Nov 2026", "Sat, 31 Feb 2026 00:00:00 GMT", "Sat, 21 Nov 2026 24:00:00 GMT",
            "Sat, 21 Nov 20260001 00:00:00 GMT", "Sat, 21 Jan -9223372036854775808 00:00:00 GMT",
        ] {
            #expect(TransportResponse.time(ofHeader: text) == nil)
        }
    }

    @Test func `An answer without a date has no time`() {
        #expect(TransportResponse(status: 200).date == nil)
        let dated = TransportResponse(status: 200, headers: ["date": "Sat, 21 Nov 2026 00:01:00 GMT"])
        #expect(dated.date == 1_795_219_260_000_000)
    }
}
