import Testing

@testable import Intake

@Suite struct JournalCursorTests {
    private func cursor(_ number: String, source: String = "aa", boot: String = "b1", content: String = "9")
        -> JournalCursor
    {
        JournalCursor("s=\(source);i=\(number);b=\(boot);m=5;t=6;x=\(content)")
    }

    @Test func `The entries between two cursors are exact by their sequence numbers`() {
        #expect(cursor("f").entries(before: cursor("10")) == 0)
        #expect(cursor("f").entries(before: cursor("1f")) == 15)
    }

    @Test func `Numbers that began anew or go back tell nothing`() {
        #expect(cursor("1").entries(before: cursor("5", source: "bb")) == nil)
        #expect(cursor("5").entries(before: cursor("5")) == nil)
        #expect(cursor("5").entries(before: cursor("4")) == nil)
        #expect(JournalCursor("").entries(before: JournalCursor("=;;i=zz;s=")) == nil)
    }

    @Test func `An entry that moved to another file is the same entry`() {
        #expect(cursor("1").isSameEntry(as: cursor("7", source: "bb")))
        #expect(!cursor("1").isSameEntry(as: cursor("1", content: "8")))
        #expect(!cursor("1").isSameEntry(as: cursor("1", boot: "b2")))
        #expect(!JournalCursor("x").isSameEntry(as: JournalCursor("y")))
    }
}
