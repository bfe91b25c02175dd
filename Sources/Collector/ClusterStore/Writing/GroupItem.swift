import RecordStore
import WireModel

/// One part, one close or the items of one device of a request, on its way through a group.
struct GroupItem: Sendable {
    enum Work: Sendable {
        case append(BatchPart)
        case close(EpochClose.Stream)
        case number(UnnumberedItems)
    }

    enum Outcome: Sendable {
        case appended(PartAnswer)
        case closed(Result<ClosedStream, StoreError>)
        case numbered(UnnumberedAnswer)
    }

    /// The position of its request in the group.
    var job: Int
    /// Its position in the request.
    var place: Int
    var chain: ChainKey
    var receivedAt: Int64
    var work: Work

    static func items(of job: WriterJob, index: Int) -> [GroupItem] {
        switch job.work {
        case .append(let parts):
            parts.enumerated().map { place, part in
                GroupItem(
                    job: index, place: place, chain: ChainKey(device: job.device, epoch: part.epoch),
                    receivedAt: job.receivedAt, work: .append(part))
            }
        case .close(let epoch, let request):
            [
                GroupItem(
                    job: index, place: 0, chain: ChainKey(device: job.device, epoch: epoch), receivedAt: job.receivedAt,
                    work: .close(request))
            ]
        case .number(let entries):
            entries.enumerated().map { place, items in
                GroupItem(
                    job: index, place: place, chain: ChainKey(device: items.device, epoch: items.epoch),
                    receivedAt: job.receivedAt, work: .number(items))
            }
        }
    }

    /// The keys that the claim looks for; `nil` if there are none.
    var question: ItemKeyTable.Question? {
        guard case .number(let items) = work else { return nil }
        let ranges = KeyRange.ranges(of: items.keys)
        return ranges.isEmpty ? nil : ItemKeyTable.Question(device: items.device, ranges: ranges)
    }

    func refusal(_ error: StoreError, mark: StreamMark) -> Outcome {
        switch work {
        case .append(let part):
            .appended(
                PartAnswer(
                    epoch: part.epoch, stream: part.stream, outcome: .unavailable, mark: mark,
                    detail: error.publicDescription))
        case .close: .closed(.failure(error))
        case .number: .numbered(UnnumberedAnswer(unavailable: error.publicDescription))
        }
    }
}

/// The decision of a group about one item.
struct GroupDecision: Sendable {
    var item: GroupItem
    /// The answer once the chain has moved; at once, if nothing changes.
    var outcome: GroupItem.Outcome
    /// `nil` if nothing changes.
    var move: ChainTable.Move?
    var counts = StoreCounts()
    var incidents: [(DeviceIncident, UInt64)] = []
}

extension GroupDecision {
    /// Decides a part.
    init(_ item: GroupItem, _ part: BatchPart, _ chain: ClaimedChain, _ version: SliceVersion, _ stream: StreamName) {
        let former = chain.row.state
        let step = ChainStep(appending: part, to: former, device: item.chain.device)
        self.item = item
        outcome = .appended(step.answer(to: part))
        counts = step.counts
        incidents = step.incidents
        guard step.state != former else { return }
        move = ChainTable.Move(chain: chain, state: step.state)
        if let content = step.slice {
            move?.slices = [
                NewSlice(
                    chain: item.chain, version: version, day: chain.day, position: chain.position, before: former.mark,
                    after: step.state, receivedAt: item.receivedAt,
                    content: StoredSlice(content, after: former.mark.number, receivedAt: item.receivedAt),
                    bounds: content.bounds)
            ]
        }
    }

    /// Numbers the items of a device.
    init(
        _ item: GroupItem, _ items: UnnumberedItems, _ chain: ClaimedChain, _ known: KnownKeys, _ version: SliceVersion
    ) {
        let former = chain.row.state
        let step = NumberingStep(items, after: former, known: known)
        self.item = item
        outcome = .numbered(step.answer)
        counts = step.counts
        guard !step.additions.isEmpty else { return }
        move = ChainTable.Move(chain: chain, state: step.state)
        var before = former.mark
        for addition in step.additions {
            move?.slices.append(
                NewSlice(
                    chain: item.chain, version: version, day: chain.day, position: chain.position, before: before,
                    after: addition.state, receivedAt: item.receivedAt,
                    content: StoredSlice(addition.slice, after: before.number, receivedAt: item.receivedAt),
                    bounds: addition.slice.bounds, keys: addition.keys))
            before = addition.state.mark
        }
    }

    /// Closes an epoch. Only the first close writes a slice.
    init(
        _ item: GroupItem, _ request: EpochClose.Stream, _ match: ClosedStream.Match, _ chain: ClaimedChain,
        _ version: SliceVersion, _ stream: StreamName
    ) {
        let former = chain.row.state
        var state = former
        state.close(request, at: item.receivedAt)
        self.item = item
        outcome = .closed(.success(ClosedStream(stream: stream, mark: state.mark, match: match)))
        guard state != former else { return }
        move = ChainTable.Move(chain: chain, state: state)
        guard former.closed == nil else { return }
        move?.slices = [
            NewSlice(
                chain: item.chain, version: version, day: chain.day, position: chain.position, before: former.mark,
                after: state, receivedAt: item.receivedAt, content: nil)
        ]
    }
}

/// The outcomes of one request while its items are written.
struct GroupResult: Sendable {
    private var answers: [PartAnswer?] = []
    private var closed: Result<ClosedStream, StoreError>?
    private var numbered: [UnnumberedAnswer?]?

    init(of job: WriterJob) {
        switch job.work {
        case .append(let parts): answers = Array(repeating: nil, count: parts.count)
        case .close: break
        case .number(let items): numbered = Array(repeating: nil, count: items.count)
        }
    }

    mutating func set(_ outcome: GroupItem.Outcome, at place: Int) {
        switch outcome {
        case .appended(let answer): answers[place] = answer
        case .closed(let result): closed = result
        case .numbered(let answer): numbered?[place] = answer
        }
    }

    var outcome: WriterJob.Outcome {
        if let closed { return .closed(closed) }
        if let numbered { return .numbered(numbered.compactMap { $0 }) }
        return .appended(answers.compactMap { $0 })
    }
}
