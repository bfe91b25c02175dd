import Foundation
import JSON
import TelemetryBasics

/// Series of the API as tables, from which the browser draws charts. Pure.
struct MetricCharts {
    /// What a page shows as one chart.
    struct Group {
        var id: String
        var title: String
        var metrics: [String]
        /// As bars on top of each other: shares of one whole.
        var isStacked = false
        /// A value of an attribute whose series is left out: it is what the others leave.
        var rest: (attribute: String, value: String)?
    }

    /// Of a machine.
    static let usual = [
        Group(
            id: "processor", title: "Processor", metrics: ["system.cpu.utilization"], isStacked: true,
            rest: ("cpu.mode", "idle")),
        Group(id: "memory", title: "Memory", metrics: ["system.memory.linux.available", "system.memory.limit"]),
        Group(
            id: "file-systems", title: "File systems: used", metrics: ["system.filesystem.usage"],
            rest: ("system.filesystem.state", "free")),
        Group(id: "disks", title: "Disks", metrics: ["system.disk.io"]),
        Group(id: "network", title: "Network", metrics: ["system.network.io"]),
    ]

    /// The charts of these metrics: those of `usual` together, any other by itself.
    static func groups(of metrics: [String]) -> [Group] {
        var rest = metrics
        var groups: [Group] = []
        for var group in usual {
            group.metrics.removeAll { !metrics.contains($0) }
            rest.removeAll { group.metrics.contains($0) }
            if !group.metrics.isEmpty { groups.append(group) }
        }
        return groups + rest.enumerated().map { Group(id: "metric-\($0)", title: $1, metrics: [$1]) }
    }

    /// More lines cannot be told apart.
    static let maximumLines = 8

    /// - Parameter answer: of `/samples/series`, with the aggregates `mean` and `rate`.
    static func chart(_ group: Group, of answer: JSONValue) -> JSONValue {
        var lines = answer["series"].items.filter { series in
            group.metrics.contains(series["metric"].text ?? "")
                && !(group.rest.map { series["attributes"][$0.attribute].text == $0.value } ?? false)
        }.map(Line.init)
        let found = lines.count
        if found > maximumLines {
            let largest = Set(lines.indices.sorted { lines[$0].size > lines[$1].size }.prefix(maximumLines))
            lines = lines.indices.filter(largest.contains).map { lines[$0] }
        }
        let names = names(of: lines)
        let (begin, step) = (
            answer["from"].text.flatMap { Timestamp.parse($0) } ?? 0, answer["stepSeconds"].integer ?? 1
        )
        let rows = (0..<Int(answer["buckets"].integer ?? 0)).map { bucket -> JSONValue in
            [
                "at": .text(Timestamp.text(begin + Int64(bucket) * step * 1_000_000)),
                "cells": .array(lines.map { $0.cell(bucket) }),
            ]
        }
        return [
            "id": .text(group.id), "title": .text(group.title), "isStacked": .boolean(group.isStacked),
            "unit": .text(lines.first?.unit ?? ""), "columns": .array(names.map { .text($0) }),
            "rows": .array(lines.isEmpty ? [] : rows), "metrics": .array(group.metrics.map { .text($0) }),
            "leftOut": found > lines.count ? JSONValue(found - lines.count) : .null,
        ]
    }

    /// One column.
    private struct Line {
        let metric: String
        /// UCUM, and `%` for shares.
        let unit: String
        let attributes: [String: String]
        let values: [JSONValue]
        /// To tell large ones from small ones.
        let size: Double

        init(_ series: JSONValue) {
            metric = series["metric"].text ?? ""
            let isCounter = ["delta-counter", "cumulative-counter"].contains(series["kind"].text)
            let unit = series["unit"].text ?? ""
            self.unit = isCounter ? "\(unit)/s" : unit == "1" && isShare(metric) ? "%" : unit
            attributes = series["attributes"].members.compactMapValues(\.text)
            values = series["values"][isCounter ? "rate" : "mean"].items
            size = values.compactMap { $0.number.map(abs) }.reduce(0, +)
        }

        func cell(_ bucket: Int) -> JSONValue {
            guard bucket < values.count, let value = values[bucket].number else { return [:] }
            return [
                "value": .text(String(format: "%.5g", value)), "text": .text(DisplayText.quantity(value, unit)),
            ]
        }
    }

    private static func isShare(_ metric: String) -> Bool {
        ["utilization", "charge", "health", "pressure.average"].contains { metric.hasSuffix($0) }
    }

    /// What tells the columns apart: values of attributes that differ.
    private static func names(of lines: [Line]) -> [String] {
        let hasSeveralMetrics = Set(lines.map(\.metric)).count > 1
        let keys = Set(lines.flatMap(\.attributes.keys)).sorted().filter { key in
            // The name of an interface says as much.
            key != "ws1.network.class" && Set(lines.map { $0.attributes[key] }).count > 1
        }
        return lines.map { line in
            let last = line.metric.split(separator: ".").last.map(String.init) ?? line.metric
            let parts = (hasSeveralMetrics ? [last] : []) + keys.compactMap { line.attributes[$0] }
            return parts.isEmpty ? last : parts.joined(separator: " ")
        }
    }
}

extension DisplayText {
    /// - Parameter unit: UCUM, or `%` for shares from 0 to 1.
    static func quantity(_ value: Double, _ unit: String) -> String {
        switch unit {
        case "By": bytes(value)
        case "By/s": "\(bytes(value))/s"
        case "%": percent(value)
        case "s": duration(value)
        case "Cel": "\(number(value)) °C"
        case "1": number(value)
        default: "\(number(value)) \(unit.replacing("{", with: "").replacing("}", with: ""))"
        }
    }
}
