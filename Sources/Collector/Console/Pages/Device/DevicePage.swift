import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// An overview of one device: whether it reports and why not, what it holds back, how it is, and how it was.
struct DevicePage: ConsolePage {
    let path = "/devices/{device}"

    private static let buckets: Int64 = 100
    /// The number of entries in the list below the charts.
    private static let entries = 20
    /// The number of charts of a resource of OTLP for which none was chosen.
    private static let otlpCharts = 8
    /// The number of the newest commands among which a wipe certificate is looked for.
    private static let commands = "50"

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let api = visit.api
        let since = Timestamp.parse(subject.device.createdAt)
        let range = try TimeRange(visit.query, now: visit.now, since: since)
        let profile = try await api.find(subject.profile, [("effective", "true")])
        let location = DeviceLocation(subject, profile: profile?.profile ?? .null, range: range)
        if DeviceLocation.isCSV(visit) { return try await location.csv() }
        let notices = try await api.call(.listNotices, [("subject", subject.id), ("limit", "20")])
        let doNotDisturb = try await api.call(.getDoNotDisturb(subject.id))
        let diagnosis = DeviceDiagnosis(
            device: subject.device, doNotDisturb: doNotDisturb, profile: profile?.profile ?? .null, now: visit.now)

        var notable = Set(DeviceTimeline.Kind.allCases.filter(\.isNotable))
        // Its log records are all that happens at a resource of OTLP.
        if !subject.hasAgent { notable.insert(.event) }
        let timeline = try await DeviceTimeline.load(subject, from: range.from, to: range.to, kinds: notable)
        let entries = timeline.page(from: Timestamp.text(range.from), to: Timestamp.text(range.to), kinds: notable)
        let place = try await location.values()
        let wiped = try await api.call(.listCommands(subject.id), [("limit", Self.commands)]).items
            .first { $0.wipeCertificate != nil }
        return subject.answer(
            "device",
            [
                "contact": .array(diagnosis.contact.map { .text($0) }),
                "held": .array(diagnosis.held.map { .text($0) }),
                "isSilent": .boolean(subject.device.state == "silent"),
                "openNotices": .of(notices.items.filter { $0.endedAt == nil }),
                "rules": subject.device.verdicts["rules"].table,
                "findings": subject.device.verdicts["findings"].table,
                "isEnrolledAnew": .boolean(subject.device.possiblePredecessors?.isEmpty == false),
                "formerDevices": .of(subject.device.possiblePredecessors),
                "losses": .array(Self.losses(subject.device.beacon)),
                "range": range.values(at: visit, fragment: "charts"), "location": place,
                "wiped": wiped.map { .of($0) } ?? .null,
                "entries": .array(entries.prefix(Self.entries).map { $0.values(at: visit) }),
                "timeline": .text(visit.base + range.query.address(subject.address("/timeline"))),
            ].merging(try await charts(subject, range)) { $1 })
    }

    /// The losses that the device reports, by stream.
    private static func losses(_ beacon: JSONValue?) -> [JSONValue] {
        beacon["queue"].items.filter { $0["dropped"].number ?? 0 > 0 || $0["rejected"].number ?? 0 > 0 }
    }

    // MARK: Charts

    private func charts(_ subject: DeviceSubject, _ range: TimeRange) async throws -> [String: JSONValue] {
        let visit = subject.visit
        let chosen = visit.query.all("metric").filter { !$0.isEmpty }
        let picker = try await MetricPicker.ofDevice(subject.device, visit.api)
        var metrics = chosen
        if chosen.isEmpty {
            metrics =
                subject.hasAgent
                ? MetricCharts.usual.flatMap(\.metrics)
                : Array(picker.modules.flatMap(\.metrics).map(\.name).prefix(Self.otlpCharts))
        }
        // A resource that sends log records alone.
        if metrics.isEmpty { return [:] }
        let step = range.step(buckets: Self.buckets)
        var query = subject.records(range.aligned(to: step).query)
        for metric in metrics { query.add("metric", metric) }
        query.add("step", "\(step)")
        query.add("aggregate", MetricCharts.aggregates(of: subject.device))
        let answer: SeriesView
        do { answer = try await visit.api.call(.getSampleSeries(subject.id), query) } catch let problem as Problem
            where problem.status == 400
        {
            return ["chartProblem": JSONValue(problem.detail)]
        }
        let charts = MetricCharts.groups(of: metrics).map { group in
            var chart = MetricCharts.chart(group, of: answer)
            chart.links = group.metrics.map { metric in
                ("Explore \(metric)", visit.base + Self.explore(metric, subject, picker, visit.query))
            }
            return chart.values
        }
        return [
            "charts": .array(charts.filter { !$0["rows"].items.isEmpty }),
            "withoutData": .array(chosen.isEmpty ? [] : charts.filter { $0["rows"].items.isEmpty }),
            "picker": Self.choices(picker, chosen: metrics), "isChosen": .boolean(!chosen.isEmpty),
            "usual": .text(visit.base + visit.query.only(TimeRange.names).address(visit.path)),
            "rangeFields": visit.query.only(TimeRange.names).hidden,
        ]
    }

    /// The page about one metric of the device, with the same range.
    private static func explore(
        _ metric: String, _ subject: DeviceSubject, _ picker: MetricPicker, _ query: FormFields
    ) -> String {
        var fields: FormFields = [("metric", metric), ("device", subject.id)]
        fields.add("module", picker.ownModule(of: metric))
        for field in query.only(TimeRange.names).fields { fields.add(field.name, field.value) }
        return fields.address("/explore")
    }

    private static func choices(_ picker: MetricPicker, chosen: [String]) -> JSONValue {
        let listed = Set(picker.modules.flatMap { $0.metrics.map(\.name) })
        let others = MetricPicker.Module(
            name: "others", metrics: chosen.filter { !listed.contains($0) }.map { MetricPicker.Metric(name: $0) })
        let modules = picker.modules + (others.metrics.isEmpty ? [] : [others])
        return .array(
            modules.map { module in
                [
                    "module": .text(module.name),
                    "metrics": .array(
                        module.metrics.map {
                            [
                                "name": .text($0.name), "description": .text($0.description),
                                "isChosen": .boolean(chosen.contains($0.name)),
                            ]
                        }),
                ]
            })
    }
}

extension JSONValue {
    /// A list as the `rows` of a table; null for an empty one, so that a template can leave the table out.
    var table: JSONValue { items.isEmpty ? .null : ["rows": self] }
}

extension DeviceSubject {
    /// Reads the profile that the device gets.
    var profile: APIOperation<ProfileView> {
        device.application.isEmpty
            ? .getProfile(device.organization) : .getApplicationProfile(device.organization, device.application)
    }
}
