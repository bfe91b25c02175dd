import Foundation
import TestKit
import Testing
import WireModel

@testable import LogStore

@Suite struct LineScrubberTests {
    private func scrubbed(_ text: String, values: [String] = [], patterns: [String] = []) throws -> String {
        var line = LineFields(category: "c", message: text, fields: [])
        let scrubber = try #require(try LineScrubber(LogScrubbing(values: values, patterns: patterns)))
        scrubber.scrub(&line)
        return line.message.replacingOccurrences(of: LineScrubber.replacement, with: "#")
    }

    @Test(arguments: [
        ("nothing here", ["secret"], "nothing here"), ("secret", ["secret"], "#"), ("a secret.", ["secret"], "a #."),
        ("secretsecret", ["secret"], "#"), ("secret secret", ["secret"], "# #"), ("Secret", ["secret"], "Secret"),
        // Of values within each other, and of some that overlap, nothing is left.
        ("password123", ["pass", "password123", "word"], "#"), ("xabcdefx", ["abcd", "cdef"], "x#x"),
        ("aaaaa", ["aa"], "#"),
        ("abcabd", ["abcabc", "abd", "bc"], "a#"), ("über-Größe", ["Größe"], "über-#"), ("a\nb\t=c", ["\nb\t="], "a#c"),
        ("x", ["x", "x"], "#"),
    ])
    func `Values are replaced`(_ text: String, _ values: [String], _ expected: String) throws {
        #expect(try scrubbed(text, values: values) == expected)
    }

    @Test(arguments: [
        ("card 4111111111111111 used", #"\d{16}"#, "card # used"), ("a1b22c", #"\d"#, "a#b#c"),
        ("token=abc; x; token=d;", "token=.*?;", "# x; #"), ("token=abc; x", "token=[^;]*", "#; x"),
        ("mail to a.b@c.de now", #"[\w.]+@[\w.]+"#, "mail to # now"), ("aaa", "a*?", "#"), ("aaa", "a+?", "#"),
        ("foobar", "foo|foobar", "#bar"), ("foobar", "(?:foobar|foo)", "#"), ("abc", "^b|c$", "ab#"),
        ("cat concat", #"\bcat\b"#, "# concat"), ("cat concat", #"\Bcat"#, "cat con#"), ("a\nb", "a.b", "a\nb"),
        ("a\nb", #"a\sb"#, "#"),
        ("üöä", "[ö-ü]+", "#ä"), ("x😀y", "[^a-z]", "x#y"), ("ab", "(a|b)*", "#"), ("aab", "(a*)*b", "#"), ("", "a", ""),
        ("a]b", "[]a]+", "#b"), ("aXbX", "a.*X|b", "#"), ("ac abc abbc abbbc", "ab{1,2}c", "ac # # abbbc"),
        ("abbbb", "ab{2,}", "#"),
        ("a{", #"a\{"#, "#"), ("12:34", #"\d+?:\d+?"#, "#4"), ("key", "()key", "#"), ("kkk", "(k|){3}", "#"),
    ])
    func `Patterns are replaced`(_ text: String, _ pattern: String, _ expected: String) throws {
        #expect(try scrubbed(text, patterns: [pattern]) == expected)
    }

    @Test func `Values and patterns are looked for in the text as it came`() throws {
        #expect(try scrubbed("key=abcdef!", values: ["cdef"], patterns: ["key=[a-d]+"]) == "#!")
    }

    @Test func `Random patterns match as they do elsewhere`() throws {
        var generator = SplitMix64(seed: 7)
        let atoms = ["a", "b", "ab", ".", "[ab]", "[^a]", "\\w", "\\d", "(?:a|b)", "(a|ab)", "\\b", "c"]
        let counts = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?"]
        var compared = 0
        for _ in 0..<3000 {
            let pattern = (0...Int.random(in: 0..<4, using: &generator)).map { _ in
                let atom = atoms.randomElement(using: &generator)!
                let counted = atom == "\\b" ? atom : atom + counts.randomElement(using: &generator)!
                return counted + (generator.chance(0.15) ? "|c" : "")
            }.joined()
            let text = String((0..<12).map { _ in "abc1 ".randomElement(using: &generator)! })
            let theirs = try NSRegularExpression(pattern: pattern)
                .matches(in: text, range: NSRange(location: 0, length: text.utf16.count)).map(\.range)
            // A match of nothing is none for us: we go on looking where another engine has found one.
            guard theirs.allSatisfy({ $0.length > 0 }) else { continue }
            let program = ScrubProgram(try ScrubPatternSyntax.parse(pattern))
            var machine = ScrubMachine(effort: 1_000_000)
            var ours: [NSRange] = []
            var copy = text
            copy.withUTF8 { bytes in
                machine.search(program, in: bytes) { ours.append(NSRange(location: $0.lowerBound, length: $0.count)) }
            }
            #expect(ours == theirs, "\(pattern) in \(text)")
            compared += 1
        }
        #expect(compared > 500)
    }

    @Test func `Fields are scrubbed by key, by value and as a pair`() throws {
        let scrubber = try #require(
            try LineScrubber(LogScrubbing(values: ["tok"], patterns: [#"password=\S+"#, #"^\d{6}$"#])))
        var line = LineFields(
            category: "tok.net", message: "m",
            fields: [
                .init(key: "password", value: "hunter2"), .init(key: "code", value: "123456"),
                .init(key: "tok", value: "atokb"),
            ])
        scrubber.scrub(&line)
        let mark = LineScrubber.replacement
        #expect(line.category == "\(mark).net")
        #expect(
            line.fields == [
                .init(key: mark, value: mark), .init(key: "code", value: mark), .init(key: mark, value: "a\(mark)b"),
            ])
    }

    @Test(arguments: [
        "(a*)*b", "(a|a)*b", "(a|aa)+$", "(.*)(.*)(.*)(.*)x", "(a{0,40}){40}b", "a.*b|a", "((a?){30}){30}b",
    ])
    func `Hostile patterns cost a bounded effort and let nothing pass`(_ pattern: String) throws {
        let program = ScrubProgram(try ScrubPatternSyntax.parse(pattern))
        var text = String(repeating: "a", count: 8192)
        text.withUTF8 { bytes in
            var machine = ScrubMachine(effort: ScrubMachine.effort(forBytes: bytes.count))
            var covered = CoveredRanges()
            machine.search(program, in: bytes) { covered.add($0) }
            #expect(machine.effort > -2 * program.steps.count - 2)
            if machine.effort <= 0 { #expect(covered.ranges.last?.upperBound == bytes.count) }
        }
    }

    @Test func `A text longer than the searched length shows nothing of what is scrubbed`() throws {
        let secret = "s3cret-0123456789"
        let scrubber = try #require(try LineScrubber(LogScrubbing(values: [secret])))
        for shift in [0, 1, 8, 16] {
            let count = LineScrubber.windowBytes / secret.utf8.count + 100
            let text = String(repeating: "x", count: shift) + String(repeating: secret, count: count)
            var line = LineFields(category: "c", message: text, fields: [])
            scrubber.scrub(&line)
            #expect(line.message == String(repeating: "x", count: shift) + LineScrubber.replacement)
            let body = String(decoding: line.body, as: UTF8.self)
            #expect(body == "c \(line.message)…[+\(text.utf8.count - LineScrubber.windowBytes / 2)]")
        }
    }

    @Test func `Many values that begin alike need one pass`() throws {
        let values = (0..<256).map { String(repeating: "a", count: 500) + "\($0)" }
        #expect(try scrubbed(String(repeating: "a", count: 600), values: values) == String(repeating: "a", count: 600))
        #expect(
            try scrubbed(String(repeating: "a", count: 600) + "77x", values: values) == String(
                repeating: "a", count: 100) + "#x")
    }

    @Test(arguments: [
        LogScrubbing(values: [""]), LogScrubbing(values: [String(repeating: "x", count: 1025)]),
        LogScrubbing(values: .init(repeating: "xxx", count: 257)), LogScrubbing(patterns: ["(a"]),
        LogScrubbing(patterns: ["(a{1000}){3}"]), LogScrubbing(patterns: [""]),
    ])
    func `Rules out of range are refused without showing them`(_ scrubbing: LogScrubbing) {
        let error = #expect(throws: LogStoreError.self) { _ = try LineScrubber(scrubbing) }
        #expect(error?.code == .invalid)
        #expect(error?.message.contains("xxx") == false)
    }

    @Test func `No rules are no scrubber`() throws {
        #expect(try LineScrubber(LogScrubbing()) == nil)
    }
}
