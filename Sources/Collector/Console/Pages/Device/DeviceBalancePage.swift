import JSON

/// Where every record of a device is.
struct DeviceBalancePage: Page {
    let path = "/devices/{device}/balance"

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let balance = try await visit.api.get("\(subject.path)/balance", visit.query.only(["cursor"]))
        let streams = balance["streams"].items
        return subject.answer(
            "device-balance",
            [
                "balance": balance, "epochs": .array(Self.epochs(streams)),
                "dropReasons": Self.reasons(streams.map { $0["dropped"] }, Self.droppedBecause).table,
                "rejectReasons": Self.reasons(streams.map { $0["rejected"] }, Self.rejectedBecause).table,
                "summary": .text(Self.summary(of: balance)), "more": balance.more(at: visit),
                "isPart": .boolean(balance["next"].text != nil || visit.query["cursor"] != nil),
            ])
    }

    /// Streams by epoch, the open one first.
    private static func epochs(_ streams: [JSONValue]) -> [JSONValue] {
        var order: [String] = []
        var found: [String: [JSONValue]] = [:]
        for stream in streams {
            let epoch = stream["epoch"].text ?? ""
            if found[epoch] == nil { order.append(epoch) }
            found[epoch, default: []].append(stream)
        }
        let epochs = order.map { epoch -> JSONValue in
            let rows = found[epoch] ?? []
            return [
                "epoch": .text(epoch), "isOpen": .boolean(rows.contains { !$0["closed"].isTrue }), "rows": .array(rows),
            ]
        }
        return epochs.filter { $0["isOpen"].isTrue } + epochs.filter { !$0["isOpen"].isTrue }
    }

    private static func summary(of balance: JSONValue) -> String {
        let totals = balance["totals"]
        func count(_ name: String) -> String { DisplayText.count(totals[name].number ?? 0) }
        guard !balance["streams"].items.isEmpty || count("streams") != "0" else {
            return "No record has arrived yet, so there is nothing to account for."
        }
        let sum =
            "\(count("recordsProduced")) produced = \(count("recordsStored")) stored + "
            + "\(count("recordsRejected")) rejected + \(count("recordsDropped")) dropped + "
            + "\(count("recordsLostAtCollector")) lost at the collector + "
            + "\(count("recordsWaiting")) waiting on the device"
        return balance["closes"].isTrue
            ? "The balance closes. Every record is accounted for: \(sum)."
            : "The balance does not close. \(totals.counted("leftOut", "stream")) left out of these sums: \(sum)."
    }

    /// The reasons that occur, with their meaning.
    private static func reasons(_ counts: [JSONValue], _ meanings: [String: String]) -> JSONValue {
        var sums: [String: Double] = [:]
        for (name, count) in counts.flatMap(\.members) { sums[name, default: 0] += count.number ?? 0 }
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
        "policy": "The organization refuses this kind.",
    ]
}
