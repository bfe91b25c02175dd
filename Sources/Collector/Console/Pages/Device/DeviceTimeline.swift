import CollectorAPI
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
    mutating func add(beacons: [RecordView], isCut: Bool) {
        var found: [Entry] = []
        for (index, record) in beacons.enumerated() {
            let former = index + 1 < beacons.count ? beacons[index + 1] : nil
            if former == nil, isCut { break }
            found.append(Self.entry(ofBeacon: record))
            if let former { found += Self.changes(from: former, to: record) }
        }
        found += Self.delays(beacons)
        add(found, cut: isCut ? beacons.last?.time : nil)
    }

    private static func entry(ofBeacon record: RecordView) -> Entry {
        let beacon = record.beacon ?? .null
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
            at: record.time, kind: ["start", "stop"].contains(trigger) ? .agent : .beacon,
            title: titles[trigger ?? ""] ?? "Beacon", detail: joined(parts), isScheduled: trigger == "schedule")
    }

    /// The differences between two beacons, and why there was none between.
    private static func changes(from former: RecordView, to record: RecordView) -> [Entry] {
        let (before, beacon) = (former.beacon ?? .null, record.beacon ?? .null)
        let at = record.time
        var found: [Entry] = []
        let boot = former.bootId != record.bootId ? bootTime(of: record) : nil
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
    private static func clockSet(from former: RecordView, to record: RecordView) -> Int64? {
        guard former.bootId == record.bootId, let begin = Timestamp.parse(former.time),
            let end = Timestamp.parse(record.time), let old = Int64(exactly: former.timeSinceBootMicroseconds),
            let new = Int64(exactly: record.timeSinceBootMicroseconds)
        else { return nil }
        return (end - begin) - (new - old)
    }

    private static func clockJump(from former: RecordView, to record: RecordView) -> Entry? {
        guard let jump = clockSet(from: former, to: record), abs(jump) > 60_000_000 else { return nil }
        let span = DisplayText.duration(Double(abs(jump)) / 1_000_000)
        return Entry(
            at: record.time, kind: .change,
            title: "The device's clock was set \(span) \(jump > 0 ? "forward" : "back")")
    }

    private static func silence(
        from former: RecordView, to record: RecordView, boot: String?, start: String?
    ) -> Entry? {
        guard let begin = Timestamp.parse(former.time), let end = Timestamp.parse(record.time),
            let interval = former.beacon["nextBeaconSeconds"].integer, interval > 0
        else { return nil }
        let gap = end - begin - (clockSet(from: former, to: record) ?? 0)
        guard gap > 3 * interval * 1_000_000 else { return nil }
        let hasStopped = former.beacon["trigger"].text == "stop"
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
            at: record.time, kind: .silence,
            title: "No beacon for \(DisplayText.duration(Double(gap) / 1_000_000))", detail: reason)
    }

    /// Runs of beacons that arrived late: the device made them and could not reach the collector. What is common to all
    /// is the difference of the clocks, not a delay.
    private static func delays(_ beacons: [RecordView]) -> [Entry] {
        let delays = beacons.map { (Timestamp.parse($0.receivedAt) ?? 0) - (Timestamp.parse($0.time) ?? 0) }
        let difference = delays.min() ?? 0
        var found: [Entry] = []
        var run: [RecordView] = []
        func close() {
            guard let newest = run.first, let oldest = run.last else { return }
            let (begin, end) = (oldest.time, newest.receivedAt)
            let count = run.count == 1 ? "A beacon" : "\(run.count) beacons"
            found.append(
                Entry(
                    at: newest.time, kind: .silence, title: "Out of reach until \(DisplayText.time(end))",
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

    private static func bootTime(of record: RecordView) -> String? {
        guard let at = Timestamp.parse(record.time), let since = Int64(exactly: record.timeSinceBootMicroseconds)
        else { return nil }
        return Timestamp.text(at - since)
    }

    private static func listed(_ members: [String: JSONValue]) -> [String?] {
        members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.renderText)" }
    }

    private static func joined(_ parts: [String?]) -> String? {
        let present = parts.compactMap(\.self)
        return present.isEmpty ? nil : present.joined(separator: ", ")
    }
}

// MARK: - Other lists

extension DeviceTimeline {
    mutating func add(events: [RecordView], isCut: Bool) {
        add(
            events.map { record in
                let event = record.event ?? EventView()
                if event.type == "otlp-log" { return Self.entry(ofLog: record, event) }
                let value = event.value == .null ? "" : " = \(event.value.renderText)"
                let failed = event.succeeded == false ? ["failed"] : []
                return Entry(
                    at: record.time, kind: .event, title: event.name + value,
                    detail: Self.joined(failed + Self.listed(event.attributes)))
            }, cut: isCut ? events.last?.time : nil)
    }

    /// A log record that came as OTLP: its event or its severity, and what it says.
    private static func entry(ofLog record: RecordView, _ event: EventView) -> Entry {
        let value =
            switch event.value {
            case .array, .object: DisplayText.visible(event.value.compactText)
            default: event.value.renderText
            }
        let parts = [event.name, value].filter { !$0.isEmpty }
        let severity = (record.otlp ?? .null)["severityText"].text.flatMap { $0 == event.name ? nil : $0 }
        return Entry(
            at: record.time, kind: .event, title: parts.isEmpty ? "Log record" : parts.joined(separator: ": "),
            detail: joined([severity, record.application.map { "of \($0)" }] + listed(event.attributes)))
    }

    /// - Parameter link: the address of the page of commands.
    mutating func add(commands: [CommandView], isCut: Bool, link: String) {
        add(
            commands.flatMap { command -> [Entry] in
                let kind = DisplayText.words(command.kind)
                let issued = Entry(
                    at: command.issuedAt, kind: .command, title: "Command: \(kind)",
                    detail: "issued by \(command.issuedBy)", link: link)
                guard let at = command.updatedAt else { return [issued] }
                let detail = command.detail.flatMap { $0.isEmpty ? nil : $0 }
                let title = "Command \(kind): \(DisplayText.words(command.state))"
                return [Entry(at: at, kind: .command, title: title, detail: detail, link: link), issued]
            }, cut: isCut ? commands.last?.issuedAt : nil)
    }

    mutating func add(revisions: [ProfileView], of application: String, isCut: Bool) {
        let own = revisions.filter { $0.application == nil || $0.application == application }
        add(
            own.compactMap { revision in
                guard let at = revision.createdAt else { return nil }
                let whose = revision.application.map { " for \($0)" } ?? ""
                let title = "Profile revision \(revision.revision)\(whose) published"
                return Entry(at: at, kind: .profile, title: title, detail: revision.author.map { "by \($0)" })
            }, cut: isCut ? revisions.last?.createdAt : nil)
    }

    mutating func add(uploads: [UploadView], isCut: Bool, link: String) {
        add(
            uploads.flatMap { upload -> [Entry] in
                let application = upload.application.map { " of \($0)" } ?? ""
                let chunks = DisplayText.counted(JSONValue(upload.chunks), "chunk")
                let detail = "\(DisplayText.bytes(Double(upload.rawBytes))), \(upload.storedChunks) of \(chunks) stored"
                func entry(_ time: String, _ word: String) -> Entry {
                    Entry(
                        at: time, kind: .logs, title: "Upload of logs\(application) \(word)", detail: detail, link: link
                    )
                }
                let end = upload.state == "complete" ? "complete" : "expired"
                return (upload.endedAt.map { [entry($0, end)] } ?? []) + [entry(upload.startedAt, "begun")]
            }, cut: isCut ? uploads.last?.startedAt : nil)
    }

    /// Commands are left out: their own list says more.
    mutating func add(audit: [AuditView], isCut: Bool) {
        add(
            audit.filter { $0.action != "command-issue" }.map { entry in
                let outcome = entry.outcome == "done" ? nil : entry.outcome
                return Entry(
                    at: entry.time, kind: .audit, title: DisplayText.words(entry.action),
                    detail: Self.joined(
                        ["by \(entry.actor)", outcome] + Self.listed(entry.detail.mapValues { .text($0) })))
            }, cut: isCut ? audit.last?.time : nil)
    }
}
