import WireModel

/// The close of an epoch: for each of the three streams its last number, the reason for the numbers between mark and
/// last, the device's last totals, and points of its chain.
package struct EpochClose: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        package var stream: StreamName
        package var last: UInt64
        package var reason: DropReason
        package var points: [Point]
        /// `nil` if the device does not report them; then those of its parts are kept.
        package var totals: StreamTotals?

        package init(
            stream: StreamName, last: UInt64, reason: DropReason, points: [Point], totals: StreamTotals? = nil
        ) {
            self.stream = stream
            self.last = last
            self.reason = reason
            self.points = points
            self.totals = totals
        }
    }

    package struct Point: Hashable, Sendable {
        package var number: UInt64
        package var link: ChainLink

        package init(number: UInt64, link: ChainLink) {
            self.number = number
            self.link = link
        }
    }

    package var epoch: EpochID
    package var streams: [Stream]

    package init(epoch: EpochID, streams: [Stream]) {
        self.epoch = epoch
        self.streams = streams
    }
}

package struct ClosedStream: Equatable, Sendable {
    package enum Match: Equatable, Sendable {
        case point(EpochClose.Point)
        /// None of the points is in the history.
        case none
        /// Retention removed what could show it.
        case unknown
    }

    package var stream: StreamName
    package var mark: StreamMark
    package var match: Match

    package init(stream: StreamName, mark: StreamMark, match: Match) {
        self.stream = stream
        self.mark = mark
        self.match = match
    }
}
