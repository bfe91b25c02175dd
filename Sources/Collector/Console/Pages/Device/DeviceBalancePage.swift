import CollectorAPI
import JSON

/// Where every record of a device is.
struct DeviceBalancePage: ConsolePage {
    let path = "/devices/{device}/balance"

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let balance = try await visit.api.call(.getBalance(subject.id), visit.query.only(["cursor"]))
        return subject.answer(
            "device-balance",
            [
                "balance": .of(balance), "epochs": .array(Self.epochs(balance.streams)),
                "dropReasons": Self.reasons(balance.streams.map(\.dropped), Self.droppedBecause).table,
                "rejectReasons": Self.reasons(balance.streams.map(\.rejected), Self.rejectedBecause).table,
                "summary": .text(Self.summary(of: balance)), "more": visit.more(balance.next),
                "isPart": .boolean(balance.next != nil || visit.query["cursor"] != nil),
            ])
    }

    /// Streams by epoch, the open one first.
    private static func epochs(_ streams: [BalanceReport.Stream]) -> [JSONValue] {
        var order: [String] = []
        var found: [String: [BalanceReport.Stream]] = [:]
        for stream in streams {
            if found[stream.epoch] == nil { order.append(stream.epoch) }
            found[stream.epoch, default: []].append(stream)
        }
        let epochs = order.map { epoch in
            let rows = found[epoch] ?? []
            return (epoch: epoch, isOpen: rows.contains { !$0.closed }, rows: rows)
        }
        return (epochs.filter(\.isOpen) + epochs.filter { !$0.isOpen }).map { epoch in
            ["epoch": .text(epoch.epoch), "isOpen": .boolean(epoch.isOpen), "rows": .of(epoch.rows)]
        }
    }

    private static func summary(of balance: BalanceReport) -> String {
        let totals = balance.totals
        func count(_ records: UInt64) -> String { DisplayText.count(Double(records)) }
        guard !balance.streams.isEmpty || totals.streams > 0 else {
            return "No record has arrived yet, so there is nothing to account for."
        }
        let sum =
            "\(count(totals.produced)) produced = \(count(totals.stored)) stored + "
            + "\(count(totals.rejected)) rejected + \(count(totals.dropped)) dropped + "
            + "\(count(totals.lostAtCollector)) lost at the collector + "
            + "\(count(totals.waiting)) waiting on the device"
        let leftOut = DisplayText.counted(JSONValue(totals.leftOut), "stream")
        return balance.closes
            ? "The balance closes. Every record is accounted for: \(sum)."
            : "The balance does not close. \(leftOut) left out of these sums: \(sum)."
    }

    /// The reasons that occur, with their meaning.
    private static func reasons(_ counts: [[String: UInt64]], _ meanings: [String: String]) -> JSONValue {
        var sums: [String: Double] = [:]
        for (name, count) in counts.flatMap(\.self) { sums[name, default: 0] += Double(count) }
        return .array(
            sums.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { name, sum in
                [
                    "reason": .text(name), "count": .text(DisplayText.count(sum)),
                    "meaning": .text(meanings[name] ?? "A reason that this version does not know."),
                ]
            })
    }

    /// The reasons as in Documentation/runbook.md, "Reasons for dropped records".
    private static let droppedBecause = [
        "byte-cap": "The queue on the device was full in bytes.",
        "row-cap": "The queue on the device was full in records.",
        "age-cap": "It waited longer than the device keeps records.",
        "disk-full": "It could not be written: the disk was full or failed.", "too-large": "It has more than 256 KiB.",
        "buffer-full": "Records came faster than the disk took them.", "unreadable": "It could not be read back.",
        "quarantined":
            "The collector could not take it, and the device set it aside: `ws1agent queue retry` sends it again.",
        "moved": "It was queued again in another epoch, under a new number.", "wiped": "It was erased by a wipe.",
        "clone": "It was inherited by a copy of the device.",
        "unverifiable": "Histories diverged, and nothing is left that could tell whether it had arrived.",
        "consent": "The person denied consent.", "unenrolled": "The device unenrolled.",
        "rebound": "It was dropped by `ws1agent queue rebind --drop`.",
        "salvage": "It was lost in a damaged queue file.",
        "malformed": "The collector refused its part for its form.",
        "disabled": "Telemetry, or this kind of it, is switched off.",
    ]

    private static let rejectedBecause = [
        "record-too-large": "It has more than 256 KiB.", "malformed-envelope": "It is no record, or out of its place.",
        "policy": "The organization refuses this kind, or devices may not send it.",
    ]
}
