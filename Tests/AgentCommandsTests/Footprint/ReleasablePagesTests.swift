import Foundation
import Testing

@testable import AgentCommands

@Suite("Pages that may be given back")
struct ReleasablePagesTests {
    private func mapping(_ header: String, anonymous: Int = 0, locked: Int = 0) -> String {
        """
        \(header)
        Size:                  4 kB
        Rss:                   4 kB
        Private_Dirty:         0 kB
        Anonymous:             \(anonymous) kB
        Locked:                \(locked) kB
        VmFlags: rd ex mr mw me

        """
    }

    @Test
    func `Program text and read-only data of files are; a name with spaces is no obstacle`() {
        let text =
            mapping("55d0c0a00000-55d0c0c00000 r-xp 00001000 fe:00 1234                       /opt/a b/ws1agent")
            + mapping("7f0000000000-7f0000001000 r--p 00000000 fe:00 77 /usr/lib/libc.so.6")
        #expect(
            ReleasablePages.ranges(smaps: text) == [
                0x55d0_c0a0_0000..<0x55d0_c0c0_0000, 0x7f00_0000_0000..<0x7f00_0000_1000,
            ])
    }

    @Test(arguments: [
        ("7f0000000000-7f0000001000 r--p 00000000 fe:00 77 /usr/lib/libc.so.6", 4, 0),
        ("7f0000000000-7f0000001000 r-xp 00000000 fe:00 77 /usr/lib/libc.so.6", 0, 4),
        ("7f0000000000-7f0000001000 rw-p 00000000 fe:00 77 /usr/lib/libc.so.6", 0, 0),
        ("7f0000000000-7f0000001000 r--s 00000000 fe:00 77 /data/file", 0, 0),
        ("7f0000000000-7f0000001000 ---p 00000000 fe:00 77 /usr/lib/libc.so.6", 0, 0),
        ("7f0000000000-7f0000001000 r-xp 00000000 00:00 0 [vdso]", 0, 0),
        ("7f0000000000-7f0000001000 r--p 00000000 00:00 0", 0, 0),
    ])
    func `What would be lost, or is not of a file, or is held in memory on purpose, is not`(
        header: String, anonymous: Int, locked: Int
    ) {
        #expect(ReleasablePages.ranges(smaps: mapping(header, anonymous: anonymous, locked: locked)).isEmpty)
    }

    @Test
    func `A text that is cut off gives no mapping whose end was not seen`() {
        let text = mapping("55d0c0a00000-55d0c0c00000 r-xp 00001000 fe:00 1234 /usr/bin/ws1agent")
        for end in text.indices where !text[..<end].contains("VmFlags:") {
            #expect(ReleasablePages.ranges(smaps: text[..<end]).isEmpty)
        }
    }

    @Test
    func `This process goes on as before after its pages were given back`() throws {
        let smaps = try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8)
        #expect(!ReleasablePages.ranges(smaps: smaps).isEmpty)
        let kept = Array(0..<100_000)
        MemoryFootprint.giveBack()
        #expect(kept.reduce(0, +) == 4_999_950_000)
    }
}
