import FoundationEssentials

/// A collector's answer, to and from the generated messages.
extension PartAnswer {
    package init(_ wire: WirePartAnswer) throws(WireError) {
        self.init(
            epoch: try Identifier.required(wire.epoch, "answer.epoch"), stream: try StreamName(wire.stream, in: "answer"),
            outcome: PartOutcome(rawValue: wire.outcome.rawValue) ?? .unknown, mark: try StreamMark(wire.mark), detail: wire.detail)
    }

    package var wire: WirePartAnswer {
        var wire = WirePartAnswer()
        wire.epoch = epoch.data
        wire.stream = stream.wire
        wire.outcome = WirePartOutcome(rawValue: outcome.rawValue) ?? .unspecified
        wire.mark = mark.wire
        wire.detail = detail
        return wire
    }
}

extension StreamMark {
    /// An empty link is that of number 0. A mark whose counts do not add up to its number is refused: taking it over would open the balance.
    package init(_ wire: WireMark) throws(WireError) {
        self.init(
            number: wire.number, link: wire.link.isEmpty && wire.number == 0 ? .zero : try ChainLink.required(wire.link, "mark.link"),
            stored: wire.stored, rejected: [RejectReason: UInt64](wire.rejected), dropped: [DropReason: UInt64](wire.dropped),
            lostAtCollector: wire.lostAtCollector)
        guard addsUp else { throw WireError(.invalidField, "the counts of the mark do not add up to its number \(number)") }
    }

    package var wire: WireMark {
        var wire = WireMark()
        wire.number = number
        wire.link = link.data
        wire.stored = stored
        wire.rejected = rejected.wire
        wire.dropped = dropped.wire
        wire.lostAtCollector = lostAtCollector
        return wire
    }
}
