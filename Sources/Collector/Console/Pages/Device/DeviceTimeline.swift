import JSON
import TelemetryBasics

/// The timeline of a device, by time: from its beacons, events, commands and uploads of logs, the revisions of its
/// profile, and the audit trail. Pure.
///
/// Each list is bounded. Where one was cut off, the timeline ends there, so that nothing is missing in between.
struct DeviceTimeline {
    enum Kind: String, CaseIterable {
        case boot, agent, silence, change, profile, command, logs, event, beacon, audit

        /// Worth a mark over a chart. The others are too many.
        var isNotable: Bool { ![.beacon, .event, .audit].contains(self) }
    }

    struct Entry: Equatable {
        /// The time as the API writes it: these texts sort by time.
        var at: String
        var kind: Kind
        var title: String
        var detail: String?
        /// An address without the proxy's prefix.
        var link: String?
        /// The time of the first of several beacons on schedule.
        var since: String?
        var isScheduled = false
    }

    private var entries: [Entry] = []
    /// All entries after this time are there; `nil` if all are.
    private(set) var completeAfter: String?

    /// - Parameter cut: where the list that these come from was cut off; `nil` if it was not.
    mutating func add(_ entries: [Entry], cut: String? = nil) {
        self.entries += entries
        if let cut { completeAfter = max(completeAfter ?? cut, cut) }
    }

    /// The newest first, without what may have gaps. Beacons on schedule that nothing interrupts are one entry.
    /// - Parameters:
    ///   - from: inclusive.
    ///   - to: exclusive.
    func page(from: String = "", to: String? = nil, kinds: Set<Kind> = Set(Kind.allCases)) -> [Entry] {
        let shown = entries.filter { entry in
            kinds.contains(entry.kind) && entry.at >= from && entry.at > completeAfter ?? ""
                && to.map { entry.at < $0 } ?? true
        }
        var page: [Entry] = []
        for entry in shown.sorted(by: { $0.at > $1.at }) {
            if entry.isScheduled, let last = page.last, last.isScheduled {
                page[page.count - 1].since = entry.at
            } else {
                page.append(entry)
            }
        }
        return page
    }
}

// MARK: - Beacons

extension DeviceTimeline {
    /// The number of microseconds from which an arrival is late.
    private static let lateness: Int64 = 300_000_000

    /// - Parameters:
    ///   - beacons: the newest first.
    ///   - isCut: there are older ones. The last one then serves only for comparison.
    mutating func add(beacons: [JSONValue], isCut: Bool) {
        var found: [Entry] = []
        for (index, record) in beacons.enumerated() {
            let former = index + 1 < beacons.count ? beacons[index + 1] : nil
            if former == nil, isCut { break }
            found.append(Self.entry(ofBeacon: record))
            if let former { found += Self.changes(from: former, to: record) }
        }
        found += Self.delays(beacons)
        add(found, cut: isCut ? beacons.last?["time"].text : nil)
    }

    private static func entry(ofBeacon record: JSONValue) -> Entry {
        let beacon = record["beacon"]
        let trigger = beacon["trigger"].text
        let titles = [
            "start": "The agent started", "stop": "The agent ended in order", "schedule": "Beacon on schedule",
            "demand": "Beacon on demand", "unlock": "Beacon after an unlock", "change": "Beacon after a change",
            "command": "Beacon that a command asked for", "unenroll": "Last beacon: the device unenrolled",
        ]
        let waiting = beacon["queue"].items.compactMap { $0["waiting"].number }.reduce(0, +)
        let parts = [
            beacon["network"].text.map { "network \($0)" },
            beacon["power"]["batteryLevel"].number.map { "battery \(DisplayText.percent($0 / 10_000))" },
            waiting > 0 ? "\(DisplayText.counted(.real(waiting), "record")) waited" : nil,
        ]
        return Entry(
            at: record["time"].text ?? "", kind: ["start", "stop"].contains(trigger) ? .agent : .beacon,
            title: titles[trigger ?? ""] ?? "Beacon", detail: joined(parts), isScheduled: trigger == "schedule")
    }

    /// The differences between two beacons, and why there was none between.
    private static func changes(from former: JSONValue, to record: JSONValue) -> [Entry] {
        let (before, beacon) = (former["beacon"], record["beacon"])
        let at = record["time"].text ?? ""
        var found: [Entry] = []
        let boot = former["bootId"] != record["bootId"] ? bootTime(of: record) : nil
        if let boot { found.append(Entry(at: boot, kind: .boot, title: "The machine started")) }
        let start = isNewProcess(from: before, to: beacon) ? beacon["processStartTime"].text : nil
        if let start, beacon["trigger"].text != "start" {
            found.append(Entry(at: start, kind: .agent, title: "The agent started"))
        }
        if start != nil, boot == nil, !["stop", "unenroll"].contains(before["trigger"].text) {
            found.append(Entry(at: at, kind: .agent, title: "The agent before this start was killed, or it failed"))
        }
        if boot == nil, let jump = clockJump(from: former, to: record) { found.append(jump) }
        if let silence = silence(from: former, to: record, boot: boot, start: start) { found.append(silence) }
        if let revision = beacon["profileRevision"].integer, before["profileRevision"].integer != revision {
            found.append(
                Entry(
                    at: at, kind: .profile, title: "The device runs profile revision \(revision)",
                    detail: before["profileRevision"].integer.map { "before: \($0)" }))
        }
        for (name, label) in compared {
            let (old, new) = (text(before, name), text(beacon, name))
            guard old != new, !(verdicts.contains(name) && (old == nil || new == nil)) else { continue }
            found.append(
                Entry(
                    at: at, kind: .change, title: "\(label): \(new ?? "unknown")", detail: "before: \(old ?? "unknown")"
                ))
        }
        return found
    }

    private static let compared = [
        ("network", "Network"), ("deviceCompliance", "Compliance of the device"),
        ("applicationCompliance", "Compliance of the application"), ("compromised", "Compromised"),
        ("consent", "Consent"), ("doNotDisturb", "Do-not-disturb"), ("telemetryDisabled", "Telemetry switched off"),
        ("libraryVersion", "Agent version"), ("application", "Application"),
        ("applicationVersion", "Application version"), ("operatingSystem.version", "Version of the system"),
        ("operatingSystem.kernel", "Kernel"), ("deviceName", "Name"),
    ]

    /// Beacons leave these out at times.
    private static let verdicts: Set = ["deviceCompliance", "applicationCompliance", "compromised", "doNotDisturb"]

    private static func text(_ beacon: JSONValue, _ path: String) -> String? {
        let value = path.split(separator: ".").reduce(beacon) { $0[String($1)] }
        return value == .null ? nil : value.renderText
    }

    /// Each process counts its beacons from 1.
    private static func isNewProcess(from before: JSONValue, to beacon: JSONValue) -> Bool {
        guard let old = before["beaconSequence"].integer, let new = beacon["beaconSequence"].integer else {
            return false
        }
        return new <= old
    }

    /// How far the wall clock was set between two beacons of one boot, in microseconds.
    private static func clockSet(from former: JSONValue, to record: JSONValue) -> Int64? {
        guard former["bootId"] == record["bootId"], let begin = time(former["time"]), let end = time(record["time"]),
            let old = former["timeSinceBootMicroseconds"].integer, let new = record["timeSinceBootMicroseconds"].integer
        else { return nil }
        return (end - begin) - (new - old)
    }

    private static func clockJump(from former: JSONValue, to record: JSONValue) -> Entry? {
        guard let jump = clockSet(from: former, to: record), abs(jump) > 60_000_000 else { return nil }
        let span = DisplayText.duration(Double(abs(jump)) / 1_000_000)
        return Entry(
            at: record["time"].text ?? "", kind: .change,
            title: "The device's clock was set \(span) \(jump > 0 ? "forward" : "back")")
    }

    private static func silence(
        from former: JSONValue, to record: JSONValue, boot: String?, start: String?
    ) -> Entry? {
        guard let begin = time(former["time"]), let end = time(record["time"]),
            let interval = former["beacon"]["nextBeaconSeconds"].integer, interval > 0
        else { return nil }
        let gap = end - begin - (clockSet(from: former, to: record) ?? 0)
        guard gap > 3 * interval * 1_000_000 else { return nil }
        let hasStopped = former["beacon"]["trigger"].text == "stop"
        let reason =
            switch (boot, start) {
            case (let boot?, _):
                "The machine was \(hasStopped ? "shut down" : "off or lost power") and started at "
                    + "\(DisplayText.time(boot))."
            case (nil, let start?):
                "The agent did not run: it had \(hasStopped ? "ended in order" : "died or was killed") and started at "
                    + "\(DisplayText.time(start))."
            case (nil, nil): "The agent ran without making beacons: the machine was suspended."
            }
        return Entry(
            at: record["time"].text ?? "", kind: .silence,
            title: "No beacon for \(DisplayText.duration(Double(gap) / 1_000_000))", detail: reason)
    }

    /// Runs of beacons that arrived late: the device made them and could not reach the collector. What is common to all
    /// is the difference of the clocks, not a delay.
    private static func delays(_ beacons: [JSONValue]) -> [Entry] {
        let delays = beacons.map { (time($0["receivedAt"]) ?? 0) - (time($0["time"]) ?? 0) }
        let difference = delays.min() ?? 0
        var found: [Entry] = []
        var run: [JSONValue] = []
        func close() {
            guard let newest = run.first, let oldest = run.last else { return }
            let (begin, end) = (oldest["time"].text ?? "", newest["receivedAt"].text ?? "")
            let count = run.count == 1 ? "A beacon" : "\(run.count) beacons"
            found.append(
                Entry(
                    at: newest["time"].text ?? "", kind: .silence, title: "Out of reach until \(DisplayText.time(end))",
                    detail:
                        "\(count) made since \(DisplayText.time(begin)) waited on "
                        + "the device: it ran, without a way to the collector."))
            run = []
        }
        for (record, delay) in zip(beacons, delays) {
            if delay - difference > lateness { run.append(record) } else { close() }
        }
        close()
        return found
    }

    private static func bootTime(of record: JSONValue) -> String? {
        guard let at = time(record["time"]), let since = record["timeSinceBootMicroseconds"].integer else { return nil }
        return Timestamp.text(at - since)
    }

    private static func time(_ value: JSONValue) -> Int64? { value.text.flatMap { Timestamp.parse($0) } }

    private static func listed(_ members: JSONValue) -> [String?] {
        members.members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.renderText)" }
    }

    private static func joined(_ parts: [String?]) -> String? {
        let present = parts.compactMap(\.self)
        return present.isEmpty ? nil : present.joined(separator: ", ")
    }
}

// MARK: - Other lists

extension DeviceTimeline {
    mutating func add(events: [JSONValue], isCut: Bool) {
        add(
            events.map { record in
                let event = record["event"]
                let value = event["value"] == .null ? "" : " = \(event["value"].renderText)"
                let failed = event["succeeded"] == .boolean(false) ? ["failed"] : []
                return Entry(
                    at: record["time"].text ?? "", kind: .event, title: (event["name"].text ?? "") + value,
                    detail: Self.joined(failed + Self.listed(event["attributes"])))
            }, cut: isCut ? events.last?["time"].text : nil)
    }

    /// - Parameter link: the address of the page of commands.
    mutating func add(commands: [JSONValue], isCut: Bool, link: String) {
        add(
            commands.flatMap { command -> [Entry] in
                let kind = DisplayText.words(command["kind"].text ?? "")
                let issued = Entry(
                    at: command["issuedAt"].text ?? "", kind: .command, title: "Command: \(kind)",
                    detail: "issued by \(command["issuedBy"].text ?? "")", link: link)
                guard let at = command["updatedAt"].text, let state = command["state"].text else { return [issued] }
                let detail = command["detail"].text.flatMap { $0.isEmpty ? nil : $0 }
                let title = "Command \(kind): \(DisplayText.words(state))"
                return [Entry(at: at, kind: .command, title: title, detail: detail, link: link), issued]
            }, cut: isCut ? commands.last?["issuedAt"].text : nil)
    }

    mutating func add(revisions: [JSONValue], of application: String, isCut: Bool) {
        let own = revisions.filter { $0["application"].text == nil || $0["application"].text == application }
        add(
            own.compactMap { revision in
                guard let at = revision["createdAt"].text else { return nil }
                let whose = revision["application"].text.map { " for \($0)" } ?? ""
                let title = "Profile revision \(revision["revision"].renderText)\(whose) published"
                return Entry(at: at, kind: .profile, title: title, detail: revision["author"].text.map { "by \($0)" })
            }, cut: isCut ? revisions.last?["createdAt"].text : nil)
    }

    mutating func add(uploads: [JSONValue], isCut: Bool, link: String) {
        add(
            uploads.flatMap { upload -> [Entry] in
                let application = upload["application"].text.map { " of \($0)" } ?? ""
                let detail =
                    "\(DisplayText.bytes(upload["rawBytes"].number ?? 0)), "
                    + "\(upload["storedChunks"].renderText) of \(upload.counted("chunks", "chunk")) stored"
                func entry(_ time: JSONValue, _ word: String) -> Entry? {
                    time.text.map {
                        Entry(
                            at: $0, kind: .logs, title: "Upload of logs\(application) \(word)", detail: detail,
                            link: link)
                    }
                }
                let end = upload["state"].text == "complete" ? "complete" : "expired"
                return [entry(upload["endedAt"], end), entry(upload["startedAt"], "begun")].compactMap(\.self)
            }, cut: isCut ? uploads.last?["startedAt"].text : nil)
    }

    /// Commands are left out: their own list says more.
    mutating func add(audit: [JSONValue], isCut: Bool) {
        add(
            audit.filter { $0["action"].text != "command-issue" }.map { entry in
                let outcome = entry["outcome"].text.flatMap { $0 == "done" ? nil : $0 }
                return Entry(
                    at: entry["time"].text ?? "", kind: .audit, title: DisplayText.words(entry["action"].text ?? ""),
                    detail: Self.joined(["by \(entry["actor"].text ?? "")", outcome] + Self.listed(entry["detail"])))
            }, cut: isCut ? audit.last?["time"].text : nil)
    }
}
