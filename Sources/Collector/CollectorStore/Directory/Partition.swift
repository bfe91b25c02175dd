import WireModel

/// One stream's file of one day.
package struct Partition: Hashable, Sendable, Comparable {
    package let day: UTCDay
    package let stream: StreamName

    package init(day: UTCDay, stream: StreamName) {
        self.day = day
        self.stream = stream
    }

    /// As findings and messages name it, relative to the data directory.
    package var name: String { "records/\(day)/\(stream).sqlite" }

    package static func < (left: Self, right: Self) -> Bool {
        left.day == right.day ? left.stream < right.stream : left.day < right.day
    }
}
