import WireModel

/// The names of a segment's files: `<ordinal, ten digits>-<kind>` and what of it a file holds. Sorted by name they are sorted by ordinal.
package struct SegmentName: Hashable, Comparable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case application
        case crash
        /// Lines more verbose than the level in force, kept for a while in case they are asked for.
        case ring

        package var type: LogType { self == .crash ? .crash : .application }
    }

    package enum Part: String, CaseIterable, Sendable {
        /// Plain text: active, or not sealed yet.
        case text = ".log"
        case sealed = ".log.gz"
        case index = ".index"
    }

    /// Added to a name while the file is being written.
    package static let partialSuffix = ".partial"
    package static let stateName = "state"
    package static let lockName = "lock"
    private static let ordinalDigits = 10

    /// From 1.
    package let ordinal: UInt64
    package let kind: Kind

    package init(ordinal: UInt64, kind: Kind) {
        self.ordinal = ordinal
        self.kind = kind
    }

    package func file(_ part: Part) -> String { "\(Self.digits(ordinal))-\(kind.rawValue)\(part.rawValue)" }

    /// An ordinal as names have it.
    package static func digits(_ ordinal: UInt64) -> String {
        let digits = String(ordinal)
        return String(repeating: "0", count: max(0, ordinalDigits - digits.utf8.count)) + digits
    }

    /// Reads a file's name; `nil` for what is none of a segment's.
    package static func read(_ file: String) -> (name: SegmentName, part: Part)? {
        guard let dash = file.firstIndex(of: "-"), let dot = file[dash...].firstIndex(of: "."),
            let ordinal = UInt64(file[..<dash]), ordinal > 0, let kind = Kind(rawValue: String(file[file.index(after: dash)..<dot])),
            let part = Part(rawValue: String(file[dot...]))
        else { return nil }
        let name = SegmentName(ordinal: ordinal, kind: kind)
        return name.file(part) == file ? (name, part) : nil
    }

    package static func < (left: SegmentName, right: SegmentName) -> Bool { left.ordinal < right.ordinal }
}
