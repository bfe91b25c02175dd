/// A product's version number, with an order.
///
/// It has numbers between dots and an optional tail: `1.4.2`, `v12`, `22.04.4`, `2.1.0-rc.1`, `1.0.2k`,
/// `6.1.0-18-amd64`, `3.0+build7`.
/// - Numbers are compared from the left. A missing number counts as 0: `1.2` equals `1.2.0`.
/// - A tail after `+` names the build and has no order.
/// - A tail after `-` or `~` makes the version earlier: `2.0-rc.1` < `2.0`. So do the words alpha, beta, pre, preview,
///   rc, dev and snapshot at any place in a tail.
/// - Any other tail makes it later: `1.0.2k` > `1.0.2`. A `-` before a digit is a packaging revision and makes it later
///   too: `6.1.0-18` > `6.1.0`.
/// - Two tails of the same kind are compared by their runs of digits (as numbers) and of letters (as text, ignoring
///   case). A number comes before a word, and the shorter of two otherwise equal tails comes first.
package struct VersionNumber: Sendable {
    /// Longer texts are no versions.
    package static let maximumBytes = 128

    private enum Phase: Int, Comparable {
        case before
        case release
        case after

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    private enum Run: Equatable {
        case number(UInt64)
        case word(String)
    }

    private let numbers: [UInt64]
    private let phase: Phase
    private let tail: [Run]

    /// `nil` if it is no version. A version begins with a digit, or with `v` and a digit. It has at most 128 bytes of
    /// printable ASCII without blanks, and no number of more than 64 bits.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...Self.maximumBytes).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            return nil
        }
        var rest = bytes[...]
        if rest.first == UInt8(ascii: "v") || rest.first == UInt8(ascii: "V") { rest = rest.dropFirst() }
        var numbers: [UInt64] = []
        while true {
            let digits = rest.prefix(while: Self.isDigit)
            guard !digits.isEmpty, let number = UInt64(String(decoding: digits, as: UTF8.self)) else { return nil }
            numbers.append(number)
            rest = rest.dropFirst(digits.count)
            guard rest.first == UInt8(ascii: "."), let next = rest.dropFirst().first, Self.isDigit(next) else { break }
            rest = rest.dropFirst()
        }
        while numbers.last == 0, numbers.count > 1 { numbers.removeLast() }
        let core = rest.prefix { $0 != UInt8(ascii: "+") }
        guard let runs = Self.runs(core) else { return nil }
        self.numbers = numbers
        tail = runs
        phase = Self.phase(of: core, runs: runs)
    }

    /// Whether the other version has the same numbers and further ones. A text that names no point release may then
    /// mean a version before or after the other one.
    package func isShortened(of other: Self) -> Bool {
        phase == .release && numbers.count < other.numbers.count && other.numbers.starts(with: numbers)
    }

    private static let preReleaseWords: Set<String> = ["alpha", "beta", "pre", "preview", "rc", "dev", "snapshot"]

    private static func phase(of core: ArraySlice<UInt8>, runs: [Run]) -> Phase {
        guard let first = runs.first else { return .release }
        if case .word(let word) = first, preReleaseWords.contains(word) { return .before }
        switch core.first {
        case UInt8(ascii: "~"): return .before
        case UInt8(ascii: "-"):
            if case .word = first { return .before }
            return .after
        default: return .after
        }
    }

    /// `nil` if a number does not fit.
    private static func runs(_ bytes: ArraySlice<UInt8>) -> [Run]? {
        var runs: [Run] = []
        var rest = bytes
        while let first = rest.first {
            if isDigit(first) {
                let digits = rest.prefix(while: isDigit)
                guard let number = UInt64(String(decoding: digits, as: UTF8.self)) else { return nil }
                runs.append(.number(number))
                rest = rest.dropFirst(digits.count)
            } else if isLetter(first) {
                let letters = rest.prefix(while: isLetter)
                runs.append(.word(String(decoding: letters, as: UTF8.self).lowercased()))
                rest = rest.dropFirst(letters.count)
            } else {
                rest = rest.dropFirst()
            }
        }
        return runs
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) }
}

extension VersionNumber: Comparable {
    package static func == (left: Self, right: Self) -> Bool {
        left.numbers == right.numbers && left.phase == right.phase && left.tail == right.tail
    }

    package static func < (left: Self, right: Self) -> Bool {
        if left.numbers != right.numbers {
            for index in 0..<max(left.numbers.count, right.numbers.count) {
                let first = index < left.numbers.count ? left.numbers[index] : 0
                let second = index < right.numbers.count ? right.numbers[index] : 0
                if first != second { return first < second }
            }
        }
        if left.phase != right.phase { return left.phase < right.phase }
        for (first, second) in zip(left.tail, right.tail) where first != second {
            switch (first, second) {
            case (.number(let first), .number(let second)): return first < second
            case (.word(let first), .word(let second)): return first < second
            case (.number, .word): return true
            case (.word, .number): return false
            }
        }
        return left.tail.count < right.tail.count
    }
}

/// How a compliance rule compares the device's version with the expected one.
package enum ComplianceOperator: String, CaseIterable, Sendable {
    case less = "<"
    case atMost = "<="
    case equal = "="
    case notEqual = "!="
    case atLeast = ">="
    case greater = ">"

    /// Whether the comparison holds.
    package func holds(_ actual: VersionNumber, _ expected: VersionNumber) -> Bool {
        switch self {
        case .less: actual < expected
        case .atMost: !(expected < actual)
        case .equal: actual == expected
        case .notEqual: actual != expected
        case .atLeast: !(actual < expected)
        case .greater: expected < actual
        }
    }
}
