import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// App Logs: the chunks of logs that match a filter, their lines by level over time, and what they can be filtered by.
/// Chunks are downloaded and deleted from here, selected ones or all that are listed.
struct LogsPage: ConsolePage {
    let path = "/logs"

    func view(_ visit: Visit) async throws -> Answer {
        if let answer = try await ChosenDevices.search(visit) { return answer }
        let filter = try LogFilter(visit.query, now: visit.now)
        switch visit.query["do"] {
        case "download":
            return .redirect(try Self.chosen(visit).with("label", "source").address("/data/api/v1/logs/content"))
        case "delete": return .view(try await question(visit, try Self.chosen(visit)))
        case "delete-listed":
            guard !filter.asksForLines else {
                throw Problem(
                    status: 422, code: .invalidField, title: "Only whole chunks can be deleted",
                    detail: "Clear the filters by category and text first.")
            }
            return .view(try await question(visit, filter.query))
        default: break
        }
        let devices = try await ChosenDevices(visit)
        let facets = try await visit.api.call(.listLogFacets, filter.ofChunks)
        let query = filter.ofChunks.with("limit", "50").with("cursor", visit.query.text("cursor"))
        let page = try await visit.api.call(.listLogs, query)
        let names = devices.names(
            page.items.map { ($0.device, $0.deviceName) } + facets.devices.map { ($0.device ?? "", $0.name) })
        let values: [String: JSONValue] = [
            "hasChunks": .boolean(!page.items.isEmpty),
            "linesAddress": .text(visit.base + filter.fields.address("/logs/view")),
            "chunks": .array(page.items.map { Self.chunk($0, names: names, base: visit.base) }),
            "total": .of(facets.chunks), "lines": .of(facets.lines), "bytes": .of(facets.bytes),
            "facets": .array(Self.facets(facets, names, filter, visit)),
            "applications": .of(facets.applications.filter { $0.application != nil }),
            "histogram": try await Self.histogram(visit, filter),
            "more": visit.more(page.next),
            "kept": .array(
                filter.fields.with("ids").fields.map { ["name": .text($0.name), "value": .text($0.value)] }),
            "deleteListed": .text(visit.base + filter.fields.with("do", "delete-listed").address(path)),
        ]
        return .view(View("logs", title: "App Logs", filter.values(at: visit, devices).merging(values) { $1 }))
    }

    // MARK: Chunks

    private static func chunk(_ chunk: ChunkView, names: [String: String], base: String) -> JSONValue {
        let (id, device) = (chunk.id, chunk.device)
        let levels = zip(LogFilter.levels, chunk.levels.list).filter { $1 > 0 }.map { level, lines -> JSONValue in
            ["level": .text(level), "lines": .text(DisplayText.count(Double(lines)))]
        }
        // In the order of writing it is the text that the digest is of.
        let file: FormFields = [("ids", id), ("order", "number")]
        return JSONValue.of(chunk).with([
            "deviceName": .text(names[device] ?? device),
            "deviceAddress": .text("\(base)/devices/\(device.percentEncoded)"),
            "lineLevels": .array(levels), "view": .text(base + FormFields([("ids", id)]).address("/logs/view")),
            "download": .text(base + file.address("/data/api/v1/logs/content")),
            "file": .text("\(device.isEmpty ? "device" : device)-\(id).log"),
            "shortDigest": .text("\((chunk.sha256 ?? "").prefix(8))…"),
        ])
    }

    // MARK: Facets

    private static func facets(
        _ facets: LogFacetsView, _ names: [String: String], _ filter: LogFilter, _ visit: Visit
    ) -> [JSONValue] {
        typealias Facet = LogFacetsView.Facet
        func list(
            _ title: String, _ facets: [Facet], _ label: (Facet) -> String,
            _ link: (Facet) -> (fields: FormFields, isHere: Bool)?, count: Int = 0
        ) -> JSONValue {
            let values = facets.map { facet -> JSONValue in
                let link = link(facet)
                return [
                    "label": .text(label(facet)), "lines": .of(facet.lines),
                    "address": JSONValue(link.map { visit.base + $0.fields.address("/logs") }),
                    "isHere": .boolean(link?.isHere ?? false),
                ]
            }
            return [
                "title": .text(title), "values": .array(values), "hasValues": .boolean(!values.isEmpty),
                "left": count > values.count ? JSONValue(count - values.count) : .null,
            ]
        }
        /// A link that filters by the value; where the filter has it already, one that removes it.
        func one(_ name: String, _ value: String?) -> (FormFields, Bool)? {
            guard let value else { return nil }
            let isHere = filter.fields[name] == value
            return (filter.fields.with(name, isHere ? nil : value), isHere)
        }
        let chosen = ChosenDevices.ids(filter.fields)
        return [
            list("Level", facets.levels, { $0.level ?? "" }, { one("level", $0.level) }),
            list("Log type", facets.types, { $0.type?.rawValue ?? "mixed" }, { one("type", $0.type?.rawValue) }),
            list(
                "App name", facets.applications, { $0.application ?? "without a bundle id" },
                { one("application", $0.application) }, count: facets.applicationCount),
            list(
                "Device", facets.devices, { facet in facet.device.map { names[$0] ?? $0 } ?? "" },
                { facet in
                    guard let id = facet.device else { return nil }
                    let isHere = chosen.contains(id)
                    var fields = filter.fields.with("device")
                    for other in isHere ? chosen.filter({ $0 != id }) : chosen + [id] { fields.add("device", other) }
                    return (fields, isHere)
                }, count: facets.deviceCount),
        ]
    }

    // MARK: Histogram

    /// Lines by level and time; with `problem` where the API cannot count them.
    private static func histogram(_ visit: Visit, _ filter: LogFilter) async throws -> JSONValue {
        let answer: LogHistogramView
        do { answer = try await visit.api.call(.countLogLines, filter.query) } catch let problem as Problem
            where problem.code == "too-much" || problem.code == "busy"
        { return ["problem": JSONValue(problem.detail)] }
        guard let from = Timestamp.parse(answer.from), answer.total.values.contains(where: { $0 > 0 }) else {
            return .null
        }
        let step = answer.stepSeconds
        let buckets = LogFilter.levels.map { answer.buckets[$0] ?? [] }
        let rows = (0..<(buckets.map(\.count).min() ?? 0)).map { row -> JSONValue in
            [
                "at": .text(Timestamp.text(from + Int64(row) * step * 1_000_000)),
                "cells": .array(buckets.map { ["lines": .of($0[row])] }),
            ]
        }
        return [
            "rows": .array(rows), "step": .integer(step), "isEstimate": .boolean(!answer.exact),
            "countedFrom": JSONValue(answer.countedFrom),
        ]
    }

    // MARK: Selected and listed

    /// The selected chunks, whole.
    private static func chosen(_ visit: Visit) throws(Problem) -> FormFields {
        let ids = visit.query.all("chunk").filter { !$0.isEmpty }
        guard !ids.isEmpty else {
            throw Problem(
                status: 422, code: .invalidField, title: "No chunk is selected",
                detail: "Go back and select chunks, or take all that are listed.")
        }
        return [("ids", ids.joined(separator: ","))]
    }

    /// The API counts first, and gives the word that confirms exactly this selection.
    private func question(_ visit: Visit, _ selection: FormFields) async throws -> View {
        guard visit.visitor.organization != nil || selection["ids"] != nil || selection["device"] != nil else {
            throw Problem(
                status: 422, code: .invalidField, title: "Logs of all organizations are listed",
                detail: "Deleting what is listed would take the logs of every organization. Choose one on the page "
                    + "Organizations, or select a device or chunks.")
        }
        let plan = try await visit.api.call(.deleteLogs, selection)
        let back = try LogFilter(visit.query, now: visit.now).fields
        func count(_ number: Double) -> JSONValue { .text(DisplayText.count(number)) }
        let bytes = DisplayText.bytes(Double(plan.rawBytes))
        return Question(
            title: "Delete \(bytes) of logs?",
            text: "The chunks are deleted for good and whole, with lines that the filter does not show. Devices do not "
                + "send them again.",
            facts: [
                ("Chunks", count(Double(plan.chunks))), ("Devices", count(Double(plan.devices))),
                ("Lines", count(Double(plan.lines))), ("Text", .text(bytes)),
            ], action: "delete", fields: selection.with("confirm", plan.confirm), button: "Delete the logs",
            back: back.address(path)
        ).view
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "delete" else { return nil }
        let names = LogFilter.names.filter { !LogFilter.namesOfLines.contains($0) } + ["confirm"]
        let selection = visit.form.only(names)
        guard selection["confirm"] != nil else { throw Problem.field("The confirmation", "is missing. Ask again.") }
        let result = try await visit.api.call(.deleteLogs, selection)
        let text = DisplayText.bytes(Double(result.rawBytes))
        let back = try LogFilter(visit.query, now: visit.now).fields
        return .done("\(text) of logs are deleted. Chunks: \(result.chunks).", at: back.address(path))
    }
}
