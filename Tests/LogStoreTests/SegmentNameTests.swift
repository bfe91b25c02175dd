import LogStore
import Testing

@Suite struct SegmentNameTests {
    @Test(arguments: SegmentName.Kind.allCases, SegmentName.Part.allCases)
    func `Every name is read back`(_ kind: SegmentName.Kind, _ part: SegmentName.Part) throws {
        for ordinal: UInt64 in [1, 42, 9_999_999_999, 12_345_678_901] {
            for application in ["", "com.example.kiosk", "a-b_c.log", "x.log.gz", "ä/b c%2f", ".index"] {
                let name = SegmentName(ordinal: ordinal, kind: kind, application: application)
                let file = name.file(part)
                #expect(!file.contains("/") && file.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
                let read = try #require(SegmentName.read(file))
                #expect(read.name == name)
                #expect(read.part == part)
            }
        }
        #expect(
            SegmentName(ordinal: 5, kind: .crash, application: "com.example.kiosk").file(.sealed)
                == "0000000005-crash-com.example.kiosk.log.gz")
    }

    @Test(arguments: [
        "", "state", "lock", "5-application.log", "0000000000-application.log", "0000000005-other.log",
        "0000000005-application.log.gz.partial",
        "0000000005-application", "+000000005-application.log", "0000000005-application.LOG",
        "00000000005-application.log", "0000000005-application-.log", "0000000005-application-a b.log",
        "0000000005-application-%2.log", "0000000005-application-%2F.log", "0000000005-application-%41.log",
        "0000000005-application-%ff.log", "20261126061336-application.log", "18446744073709551615-application.log",
    ])
    func `Other names are not accepted`(_ file: String) {
        #expect(SegmentName.read(file) == nil)
    }

    @Test func `Names sort by ordinal`() {
        let files = [3, 10, 2_000_000_000].map { SegmentName(ordinal: $0, kind: .application).file(.text) }
        #expect(files == files.sorted())
    }
}
