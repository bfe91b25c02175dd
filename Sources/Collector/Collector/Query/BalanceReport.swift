import CollectorAPI
import RecordStore
import TelemetryBasics
import WireModel

extension BalanceReport {
    /// - Parameters:
    ///   - isFleet: it covers all devices, and none of them may make it fail for the others.
    ///   - missing: names of unreadable record files.
    package init(
        _ devices: [(device: DeviceID, epochs: [EpochBalance])], isFleet: Bool = false, missing: [String] = []
    ) {
        self.init()
        self.missing = missing.isEmpty ? nil : missing
        streams = devices.flatMap { device, epochs in epochs.map { Stream($0, of: device) } }
        totals = streams.reduce(into: Totals()) { $0.add($1) }
        findings = devices.flatMap { device, epochs in
            epochs.filter { !$0.balance.closes }.map { Finding($0, of: device) }
        }
        closes = isFleet ? findings.allSatisfy { $0.code == .deviceClaims } : findings.isEmpty
    }
}

extension BalanceReport {
    /// The most findings of a device that has several pages.
    private static let mostFindings = 100

    /// Replaces sums and findings by those of all epochs of a device, in bounded memory.
    mutating func sum(_ device: DeviceID, in store: any RecordStore) async throws(StoreError) {
        (totals, findings, closes) = (Totals(), [], true)
        var after: EpochID?
        repeat {
            let page = try await store.balance(of: device, after: after, limit: BalancePage.maximumEpochs)
            for entry in page.epochs {
                totals.add(Stream(entry, of: device))
                guard !entry.balance.closes else { continue }
                closes = false
                if findings.count < Self.mostFindings { findings.append(Finding(entry, of: device)) }
            }
            after = page.next
        } while after != nil
    }
}

extension BalanceReport.Stream {
    fileprivate init(_ entry: EpochBalance, of device: DeviceID) {
        self.init()
        self.device = device.description
        epoch = entry.epoch.description
        stream = entry.stream.description
        produced = entry.balance.produced
        stored = entry.balance.stored
        rejected = entry.balance.rejected
        dropped = entry.balance.dropped
        lostAtCollector = entry.balance.lostAtCollector
        waiting = entry.balance.waiting
        closed = entry.closed
        closes = entry.balance.closes
    }
}

extension BalanceReport.Totals {
    fileprivate mutating func add(_ stream: BalanceReport.Stream) {
        guard stream.closes else { return leftOut += 1 }
        streams += 1
        produced.addSaturating(stream.produced)
        stored.addSaturating(stream.stored)
        rejected.addSaturating(stream.rejected.values.saturatingSum)
        dropped.addSaturating(stream.dropped.values.saturatingSum)
        lostAtCollector.addSaturating(stream.lostAtCollector)
        waiting.addSaturating(stream.waiting)
    }
}

extension BalanceReport.Finding {
    fileprivate init(_ entry: EpochBalance, of device: DeviceID) {
        let code: Code = entry.storedAddsUp ? .deviceClaims : .storedRecords
        let message =
            switch code {
            case .deviceClaims:
                "The device reports \(CountText.of(entry.totals.produced, "produced record")), "
                    + "\(entry.totals.waiting) waiting and "
                    + "\(entry.totals.dropped.values.saturatingSum) dropped; the mark is at "
                    + "\(entry.mark.number). These numbers contradict each other."
            case .storedRecords:
                "\(CountText.of(entry.storedRows, "record")) stored, \(entry.mark.rejectedCount) rejected, "
                    + "\(entry.mark.droppedCount) dropped, "
                    + "\(entry.mark.lostAtCollector) lost; the mark is at \(entry.mark.number). "
                    + "`ws1collector verify` checks the stored data."
            }
        self.init(
            code, device: device.description, epoch: entry.epoch.description, stream: entry.stream.description,
            message: message)
    }
}

extension EpochBalance {
    /// Whether rows and counts of this collector add up to the mark, whatever the device reports.
    fileprivate var storedAddsUp: Bool {
        var counted = mark
        counted.stored = storedRows
        return counted.addsUp
    }
}
