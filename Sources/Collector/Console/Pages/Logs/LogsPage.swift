import JSON
import TelemetryBasics

/// App Logs: the chunks of logs that match a filter, their lines by level over time, and what they can be filtered by.
/// Chunks are downloaded and deleted from here, selected ones or all that are listed.
struct LogsPage: Page {
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
                throw APIProblem(
                    status: 422, code: "invalid-field", title: "Only whole chunks can be deleted",
                    detail: "Clear the filters by category and text first.")
            }
            return .view(try await question(visit, filter.query))
        default: break
        }
        let devices = try await ChosenDevices(visit)
        let facets = try await visit.api.get("/api/v1/logs/facets", filter.ofChunks)
        let query = filter.ofChunks.with("limit", "50").with("cursor", visit.query.text("cursor"))
        let page = try await visit.api.get("/api/v1/logs", query)
        let ids = page.pageItems.compactMap { $0["device"].text }
        let known = facets["devices"].items.compactMap { facet in
            facet["device"].text.flatMap { id in facet["name"].text.map { (id, $0) } }
        }
        let names = try await devices.names(of: ids, known: Dictionary(known) { first, _ in first }, visit)
        let values: [String: JSONValue] = [
            "hasChunks": .boolean(!page.pageItems.isEmpty),
            "linesAddress": .text(visit.base + filter.fields.address("/logs/view")),
            "chunks": .array(page.pageItems.map { Self.chunk($0, names: names, base: visit.base) }),
            "total": facets["chunks"], "lines": facets["lines"], "bytes": facets["bytes"],
            "facets": .array(Self.facets(facets, names, filter, visit)),
            "applications": .array(facets["applications"].items.filter { $0["application"].text != nil }),
            "histogram": try await Self.histogram(visit, filter),
            "more": page.more(at: visit),
            "kept": .array(
                filter.fields.with("ids").fields.map { ["name": .text($0.name), "value": .text($0.value)] }),
            "deleteListed": .text(visit.base + filter.fields.with("do", "delete-listed").address(path)),
        ]
        return .view(View("logs", title: "App Logs", filter.values(at: visit, devices).merging(values) { $1 }))
    }

    // MARK: Chunks

    private static func chunk(_ chunk: JSONValue, names: [String: String], base: String) -> JSONValue {
        let (id, device) = (chunk["id"].text ?? "", chunk["device"].text ?? "")
        let levels = LogFilter.levels.compactMap { level -> JSONValue? in
            guard let lines = chunk["levels"][level].number, lines > 0 else { return nil }
            return ["level": .text(level), "lines": .text(DisplayText.count(lines))]
        }
        // In the order of writing it is the text that the digest is of.
        let file: FormFields = [("ids", id), ("order", "number")]
        let digest = chunk["sha256"].text ?? ""
        return chunk.with([
            "deviceName": .text(names[device] ?? device),
            "deviceAddress": .text("\(base)/devices/\(device.percentEncoded)"),
            "lineLevels": .array(levels), "view": .text(base + FormFields([("ids", id)]).address("/logs/view")),
            "download": .text(base + file.address("/data/api/v1/logs/content")),
            "file": .text("\(device.isEmpty ? "device" : device)-\(id).log"),
            "shortDigest": .text("\(digest.prefix(8))…"),
        ])
    }

    // MARK: Facets

    private static func facets(
        _ facets: JSONValue, _ names: [String: String], _ filter: LogFilter, _ visit: Visit
    ) -> [JSONValue] {
        func list(
            _ title: String, _ members: String, _ label: (JSONValue) -> String,
            _ link: (JSONValue) -> (fields: FormFields, isHere: Bool)?, left: Int64 = 0
        ) -> JSONValue {
            let values = facets[members].items.map { facet -> JSONValue in
                let link = link(facet)
                return [
                    "label": .text(label(facet)), "lines": facet["lines"], "chunks": facet["chunks"],
                    "address": JSONValue(link.map { visit.base + $0.fields.address("/logs") }),
                    "isHere": .boolean(link?.isHere ?? false),
                ]
            }
            return [
                "title": .text(title), "values": .array(values), "hasValues": .boolean(!values.isEmpty),
                "left": left > Int64(values.count) ? .integer(left - Int64(values.count)) : .null,
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
            list("Level", "levels", { $0["level"].text ?? "" }, { one("level", $0["level"].text) }),
            list("Log type", "types", { $0["type"].text ?? "mixed" }, { one("type", $0["type"].text) }),
            list(
                "App name", "applications", { $0["application"].text ?? "without a bundle id" },
                { one("application", $0["application"].text) }, left: facets["applicationCount"].integer ?? 0),
            list(
                "Device", "devices", { names[$0["device"].text ?? ""] ?? $0["device"].text ?? "" },
                { facet in
                    guard let id = facet["device"].text else { return nil }
                    let isHere = chosen.contains(id)
                    var fields = filter.fields.with("device")
                    for other in isHere ? chosen.filter({ $0 != id }) : chosen + [id] { fields.add("device", other) }
                    return (fields, isHere)
                }, left: facets["deviceCount"].integer ?? 0),
        ]
    }

    // MARK: Histogram

    /// Lines by level and time; with `problem` where the API cannot count them.
    private static func histogram(_ visit: Visit, _ filter: LogFilter) async throws -> JSONValue {
        let answer: JSONValue
        do { answer = try await visit.api.get("/api/v1/logs/histogram", filter.query) } catch let problem as APIProblem
            where problem.code == "too-much" || problem.code == "busy"
        { return ["problem": .text(problem.detail)] }
        guard let from = answer["from"].text.flatMap({ Timestamp.parse($0) }),
            let step = answer["stepSeconds"].integer
        else { return .null }
        let buckets = LogFilter.levels.map { answer["buckets"][$0].items }
        let rows = (0..<(buckets.map(\.count).min() ?? 0)).map { row -> JSONValue in
            [
                "at": .text(Timestamp.text(from + Int64(row) * step * 1_000_000)),
                "cells": .array(buckets.map { ["lines": $0[row]] }),
            ]
        }
        guard answer["total"].members.values.contains(where: { $0.number ?? 0 > 0 }) else { return .null }
        return [
            "rows": .array(rows), "step": .integer(step), "isEstimate": .boolean(answer["exact"].truth == false),
            "countedFrom": answer["countedFrom"],
        ]
    }

    // MARK: Selected and listed

    /// The selected chunks, whole.
    private static func chosen(_ visit: Visit) throws(APIProblem) -> FormFields {
        let ids = visit.query.all("chunk").filter { !$0.isEmpty }
        guard !ids.isEmpty else {
            throw APIProblem(
                status: 422, code: "invalid-field", title: "No chunk is selected",
                detail: "Go back and select chunks, or take all that are listed.")
        }
        return [("ids", ids.joined(separator: ","))]
    }

    /// The API counts first, and gives the word that confirms exactly this selection.
    private func question(_ visit: Visit, _ selection: FormFields) async throws -> View {
        guard visit.visitor.organization != nil || selection["ids"] != nil || selection["device"] != nil else {
            throw APIProblem(
                status: 422, code: "invalid-field", title: "Logs of all organizations are listed",
                detail: "Deleting what is listed would take the logs of every organization. Choose one on the page "
                    + "Organizations, or select a device or chunks.")
        }
        let plan = try await visit.api.send("DELETE", "/api/v1/logs", selection)
        let back = try LogFilter(visit.query, now: visit.now).fields
        func count(_ name: String) -> JSONValue { .text(DisplayText.count(plan[name].number ?? 0)) }
        let bytes = DisplayText.bytes(plan["rawBytes"].number ?? 0)
        return Question(
            title: "Delete \(bytes) of logs?",
            text: "The chunks are deleted for good and whole, with lines that the filter does not show. Devices do not "
                + "send them again.",
            facts: [
                ("Chunks", count("chunks")), ("Devices", count("devices")), ("Lines", count("lines")),
                ("Text", .text(bytes)),
            ], action: "delete", fields: selection.with("confirm", plan["confirm"].text), button: "Delete the logs",
            back: back.address(path)
        ).view
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "delete" else { return nil }
        let names = LogFilter.names.filter { !LogFilter.namesOfLines.contains($0) } + ["confirm"]
        let selection = visit.form.only(names)
        guard selection["confirm"] != nil else { throw APIProblem.field("The confirmation", "is missing. Ask again.") }
        let result = try await visit.api.send("DELETE", "/api/v1/logs", selection)
        let text = DisplayText.bytes(result["rawBytes"].number ?? 0)
        let back = try LogFilter(visit.query, now: visit.now).fields
        return .done("\(text) of logs are deleted. Chunks: \(result["chunks"].renderText).", at: back.address(path))
    }
}
