import Testing

@testable import WireModel

@Suite struct VersionNumberTests {
    /// Each is earlier than the next.
    static let ascending = [
        "0", "0.9", "1.0-alpha", "1.0-alpha.1", "1.0-alpha.2", "1.0-alpha.10", "1.0-beta", "1.0rc1", "1.0", "1.0a",
        "1.0.2", "1.0.2k",
        "1.0.10", "2", "6.1.0-9-amd64", "6.1.0-18-amd64", "12", "22.04.4", "2026.1", "18446744073709551615",
    ]

    @Test func `Versions of an ascending list are ordered so, each against each`() throws {
        let versions = try Self.ascending.map { try #require(VersionNumber($0), "\($0)") }
        for first in versions.indices {
            for second in versions.indices {
                #expect(
                    (versions[first] < versions[second]) == (first < second),
                    "\(Self.ascending[first]) \(Self.ascending[second])")
                #expect((versions[first] == versions[second]) == (first == second))
            }
        }
    }

    @Test(arguments: [
        ("1.2", "1.2.0.0"), ("v3.1", "3.1"), ("1.0+a", "1.0+b"), ("007", "7"), ("2.0-RC1", "2.0-rc.1"), ("0", "0.0"),
    ])
    func `Ways to write the same version are the same version`(first: String, second: String) throws {
        let (left, right) = (try #require(VersionNumber(first)), try #require(VersionNumber(second)))
        #expect(left == right && !(left < right) && !(right < left))
    }

    @Test(
        arguments: [
            "", " ", "v", "x1", ".1", "-1", "+1", "1 2", "1\n", "18446744073709551616", "1.18446744073709551616",
            "1-18446744073709551616",
            "１", "1.é", String(repeating: "1", count: 129), "unknown", "rolling",
        ]) func `What is no version is none`(text: String)
    {
        #expect(VersionNumber(text) == nil)
    }

    @Test func `Every prefix of a version and any bytes give a version or none, never a trap`() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("0123456789....-~+vabz \u{0}é".unicodeScalars)
        for _ in 0..<3000 {
            let count = Int.random(in: 0...40, using: &random)
            let text = String(
                String.UnicodeScalarView((0..<count).map { _ in alphabet.randomElement(using: &random)! }))
            guard let version = VersionNumber(text) else { continue }
            #expect(version == version && !(version < version))
        }
    }

    @Test(arguments: [
        ("12", "12.5", true), ("22.04", "22.04.3", true), ("12", "12.0.1", true), ("12", "12", false),
        ("12", "12.0", false), ("12.5", "12", false), ("11", "12.5", false), ("1", "12.5", false),
        ("12-rc1", "12.5", false), ("12a", "12.5", false),
    ]) func `A version is shortened if the other one has its numbers and further ones`(
        text: String, other: String, isShortened: Bool
    ) throws {
        let (version, whole) = (try #require(VersionNumber(text)), try #require(VersionNumber(other)))
        #expect(version.isShortened(of: whole) == isShortened)
    }

    @Test func `Each operator holds for what it says`() throws {
        let (one, two) = (try #require(VersionNumber("1")), try #require(VersionNumber("2")))
        let table: [(ComplianceOperator, [Bool])] = [
            (.less, [true, false, false]), (.atMost, [true, true, false]), (.equal, [false, true, false]),
            (.notEqual, [true, false, true]), (.atLeast, [false, true, true]), (.greater, [false, false, true]),
        ]
        #expect(table.map(\.0) == ComplianceOperator.allCases)
        for (comparison, expected) in table {
            #expect(
                [comparison.holds(one, two), comparison.holds(one, one), comparison.holds(two, one)] == expected,
                "\(comparison)")
        }
    }
}
