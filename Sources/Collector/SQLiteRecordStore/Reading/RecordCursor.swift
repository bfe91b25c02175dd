import RecordStore

/// A position in the order of receipt. Opaque to those who carry it.
struct RecordCursor: Equatable {
    var day: UTCDay
    /// The slice's row id; `.max` is before the day's newest.
    var slice: Int64
    /// The record's number in its slice; `.max` is before the slice's newest.
    var number: UInt64

    var text: String { "\(day.number)-\(slice)-\(number)" }
}

extension RecordCursor {
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let day = Int(parts[0]), let slice = Int64(parts[1]), let number = UInt64(parts[2])
        else { return nil }
        self.init(day: UTCDay(number: day), slice: slice, number: number)
    }
}
