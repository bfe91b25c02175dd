/// A position in the order of receipt: everything before it in a list is newer. Opaque to those who carry it.
struct RecordCursor: Equatable {
    var day: UTCDay
    /// The slice's row; `.max` before the day's newest.
    var slice: Int64
    /// The record's number in its slice; `.max` before the slice's newest.
    var number: UInt64

    init(day: UTCDay, slice: Int64, number: UInt64) {
        self.day = day
        self.slice = slice
        self.number = number
    }

    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let day = Int(parts[0]), let slice = Int64(parts[1]), let number = UInt64(parts[2]) else { return nil }
        self.init(day: UTCDay(number: day), slice: slice, number: number)
    }

    var text: String { "\(day.number)-\(slice)-\(number)" }
}
