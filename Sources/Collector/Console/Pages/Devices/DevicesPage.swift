import CollectorAPI
import JSON

/// The list of devices: filters, columns, order, and the way to actions on many of them.
struct DevicesPage: ConsolePage {
    let path = "/devices"

    /// The parameters that the address may have beside the filters.
    private static let view = ["columns", "sort", "facet"]
    private static let pageDevices = 100
    /// The usual order, by name, because ids mean nothing to a person.
    private static let usualOrder = "name"

    func view(_ visit: Visit) async throws -> Answer {
        let filters = visit.query.only(DeviceFilterLinks.names)
        let columns = DeviceColumn.chosen(visit)
        if visit.query["format"] == "csv" {
            return .longCSV(name: "devices.csv", try await csv(visit, filters, columns))
        }
        let order = visit.query.text("sort") ?? Self.usualOrder
        let query = filters.with("sort", order).with("limit", "\(Self.pageDevices)")
        let page = try await visit.api.call(.listDevices, query.with("cursor", visit.query.text("cursor")))
        let counts = try await visit.api.find(.listDeviceFacets, filters)
        let organizations =
            visit.visitor.organization == nil ? try await visit.api.find(.listOrganizations)?.items ?? [] : []

        let links = DeviceFilterLinks(visit)
        let kept = visit.query.only(DeviceFilterLinks.names + Self.view)
        let items = page.items.map { device -> JSONValue in
            [
                "id": .text(device.id), "name": .text(DeviceChoice.name(of: device)),
                "isTest": .boolean(device.test), "cells": .array(columns.map { $0.cell(device) }),
            ]
        }
        return .view(
            View(
                "devices", title: "Devices",
                [
                    "total": .of(page.total), "table": JSONValue.array(items).table,
                    "heads": .array(Self.heads(columns, order: order, visit)), "more": visit.more(page.next),
                    "first": visit.query.text("cursor") == nil
                        ? .null : .text(visit.base + kept.address(visit.path)),
                    "chips": JSONValue.array(links.chips).table, "isFiltered": .boolean(!filters.with("test").isEmpty),
                    "clear": .text(visit.base + visit.query.only(Self.view).address(visit.path)),
                    "facets": .array(links.facets(counts, organizations: organizations.map(\.name))),
                    "testSwitch": links.testSwitch,
                    "csv": .text(
                        visit.base
                            + visit.query.only(DeviceFilterLinks.names + ["columns"]).with("format", "csv")
                            .address(visit.path)),
                    "searchFields": kept.with("q").hidden,
                    "columnFields": kept.with("columns").hidden,
                    "columns": .array(
                        DeviceColumn.all.map { column in
                            [
                                "name": .text(column.name), "label": .text(column.label),
                                "isChosen": .boolean(columns.contains { $0.name == column.name }),
                            ]
                        }),
                    "usualColumns": .text(visit.base + kept.with("columns").address(visit.path)),
                    "actions": .array(DeviceAction.offered(to: visit.visitor, chosen: visit.form["what"])),
                    "filter": .text(filters.encoded),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        switch action {
        case "ask": try await DeviceActionForm(visit).ask()
        case "begin": try await DeviceActionForm(visit).begin()
        default: nil
        }
    }

    // MARK: Columns

    private static func heads(_ columns: [DeviceColumn], order: String, _ visit: Visit) -> [JSONValue] {
        ([.device] + columns).map { column in
            var head: [String: JSONValue] = [
                "label": .text(column.label), "isNumber": .boolean(column.kind == .number),
            ]
            if let sort = column.sort {
                let isAscending = order == sort
                let isDescending = order == "-\(sort)"
                // The newest time first, unless that is the order already.
                let goesDown = column.kind == .time ? !isDescending : isAscending
                let query = visit.query.with("cursor").with("sort", goesDown ? "-\(sort)" : sort)
                head["address"] = .text(visit.base + query.address(visit.path))
                head["order"] = isAscending ? "ascending" : isDescending ? "descending" : .null
                head["isDescending"] = .boolean(isDescending)
            }
            return .object(head)
        }
    }

    /// All matching devices in the order of their ids, which is the cheapest one for the collector.
    private func csv(_ visit: Visit, _ filters: FormFields, _ columns: [DeviceColumn]) async throws -> CSVPages {
        let columns = [.id, .device] + columns.filter { $0.name != DeviceColumn.id.name }
        return try await CSVPages(visit, .listDevices, filters, columns: columns.map(\.name)) { device in
            columns.map { $0.value(device).renderText }
        }
    }
}
