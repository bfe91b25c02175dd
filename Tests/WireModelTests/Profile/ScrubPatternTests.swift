import Testing
import WireModel

@Suite struct ScrubPatternTests {
    private func set(_ ranges: ClosedRange<Unicode.Scalar>...) -> ScrubCharacters {
        var set = ScrubCharacters()
        for range in ranges { set.insert(range.lowerBound.value...range.upperBound.value) }
        return set
    }

    @Test func `A pattern means what it says`() throws {
        let a = ScrubPattern.character(ScrubCharacters("a"))
        let b = ScrubPattern.character(ScrubCharacters("b"))
        #expect(try ScrubPatternSyntax.parse("ab") == .sequence([a, b]))
        #expect(try ScrubPatternSyntax.parse("a|b|") == .alternatives([.sequence([a]), .sequence([b]), .sequence([])]))
        #expect(try ScrubPatternSyntax.parse("a{2,5}?") == .sequence([.repeated(a, least: 2, most: 5, isLazy: true)]))
        #expect(
            try ScrubPatternSyntax.parse("a{2,}b?")
                == .sequence([
                    .repeated(a, least: 2, most: nil, isLazy: false), .repeated(b, least: 0, most: 1, isLazy: false),
                ]))
        #expect(
            try ScrubPatternSyntax.parse(#"^\b(?:a)$"#)
                == .sequence([.border(.start), .border(.word), .sequence([a]), .border(.end)]))
        #expect(
            try ScrubPatternSyntax.parse(#"[a-c\d_-]"#)
                == .sequence([.character(set("a"..."c", "0"..."9", "_"..."_", "-"..."-"))]))
        #expect(try ScrubPatternSyntax.parse(#"[^\S]"#) == .sequence([.character(.spaces)]))
        #expect(
            try ScrubPatternSyntax.parse(#"\.\n"#)
                == .sequence([.character(ScrubCharacters(".")), .character(ScrubCharacters("\n"))]))
    }

    @Test func `Ranges merge and invert`() {
        var some = set("c"..."d", "a"..."a")
        #expect(some.ranges == [97...97, 99...100])
        some.insert(98...98)
        #expect(some.ranges == [97...100])
        #expect(some.inverted.ranges == [0...96, 101...0x10FFFF])
        #expect(some.inverted.inverted == some)
        #expect(ScrubCharacters().inverted.ranges == [0...0x10FFFF])
        #expect(!ScrubCharacters.anyButNewline.contains(10) && ScrubCharacters.anyButNewline.contains(0x1F600))
    }

    @Test(arguments: [
        ("a{1000}", true), ("(a{1000}){2}", true), ("(a{1000}){3}", false),
        ("((((a{100}){100}){100}){100}){100}", false),
        ("(){1000}", true), ("((){1000}){1000}", false), ("a{0,1000}", true), ("(a*){1000}", true),
    ])
    func `What grows too large is refused`(_ pattern: String, _ isGood: Bool) {
        #expect((ScrubPatternSyntax.fault(in: pattern) == nil) == isGood)
    }
}
