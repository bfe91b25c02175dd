import Foundation
import Testing
import WireModel

@Suite struct ScrubPatternSyntaxTests {
    private static let good = [
        "a", "a|b", "|", "a*", "a+?", "a??", "a{2}", "a{2,}", "a{2,5}?", "(a(?:b)c)*", "[a-z]", "[^\\]]", "[]a]",
        "[-a]", "[a-]", "[\\d.]",
        "^\\s*$", "\\bpassword\\b", "\\.", "\\(", "ü+", "[\\w-]", "a{1000}",
    ]
    private static let bad: [(String, Int)] = [
        ("*a", 0), ("a**", 2), ("a|+", 2), ("(a", 0), ("a)", 1), ("[a", 0), ("[]", 0), ("[z-a]", 2), ("a\\", 1),
        ("\\1", 0), ("(?=a)", 0),
        ("(?<n>a)", 0), ("\\p{L}", 0), ("a{", 1), ("a{,3}", 1), ("a{5,2}", 1), ("a{1001}", 1), ("a{2", 1),
        ("a{2}{3}", 4), ("[\\b]", 1),
        ("^*", 1),
    ]

    @Test(arguments: good) func `A pattern that is offered is good and an expression`(pattern: String) throws {
        #expect(ScrubPatternSyntax.fault(in: pattern) == nil)
        // The widest engine at hand agrees that it is one.
        _ = try NSRegularExpression(pattern: pattern == "[]a]" ? "[\\]a]" : pattern)
    }

    @Test(arguments: bad) func `A fault in a pattern is found at its place`(pattern: String, position: Int) {
        #expect(ScrubPatternSyntax.fault(in: pattern)?.position == position, "\(pattern)")
    }

    @Test func `Nesting is bounded`() {
        let deep = String(repeating: "(", count: 5000) + String(repeating: ")", count: 5000)
        #expect(ScrubPatternSyntax.fault(in: deep) != nil)
    }

    @Test func `Every prefix is answered without a trap`() {
        for pattern in Self.good {
            for end in pattern.unicodeScalars.indices {
                _ = ScrubPatternSyntax.fault(in: String(pattern.unicodeScalars[..<end]))
            }
        }
    }
}
