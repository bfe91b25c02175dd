import Testing
import WireModel

@testable import Collector

@Suite("Cursors")
struct PageCursorTests {
    @Test func `A cursor reads back and is safe in a query`() {
        let device = DeviceID.random()
        for before in [nil, "2026-01-01/17", "a|b?&=+/é"] {
            let cursor = PageCursor(device: device, before: before)
            #expect(PageCursor(cursor.text) == cursor)
            #expect(cursor.text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        }
    }

    @Test(arguments: ["", "x", "!!!!", "eHg", String(repeating: "A", count: 513)])
    func `What was not given is refused`(text: String) {
        #expect(PageCursor(text) == nil)
    }
}
