import FoundationEssentials

extension Data {
    /// These bytes, counted from the start whatever the first index is, not copied.
    package func slice(_ range: Range<Int>) -> Data {
        self[(startIndex + range.lowerBound)..<(startIndex + range.upperBound)]
    }
}
