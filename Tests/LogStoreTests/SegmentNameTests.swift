import LogStore
import Testing

@Suite struct SegmentNameTests {
    @Test(arguments: SegmentName.Kind.allCases, SegmentName.Part.allCases)
    func everyNameIsReadBack(_ kind: SegmentName.Kind, _ part: SegmentName.Part) throws {
        for ordinal: UInt64 in [1, 42, 9_999_999_999, 12_345_678_901] {
            let name = SegmentName(ordinal: ordinal, kind: kind)
            let read = try #require(SegmentName.read(name.file(part)))
            #expect(read.name == name)
            #expect(read.part == part)
        }
    }

    @Test(arguments: [
        "", "state", "lock", "5-application.log", "0000000000-application.log", "0000000005-other.log",
        "0000000005-application.log.gz.partial",
        "0000000005-application", "+000000005-application.log", "0000000005-application.LOG",
        "00000000005-application.log",
    ])
    func otherNamesAreNotTaken(_ file: String) {
        #expect(SegmentName.read(file) == nil)
    }

    @Test func namesSortByOrdinal() {
        let files = [3, 10, 2_000_000_000].map { SegmentName(ordinal: $0, kind: .application).file(.text) }
        #expect(files == files.sorted())
    }
}
