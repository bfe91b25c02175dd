import CollectorAPI
import Foundation
import JSON
import TelemetryBasics

/// A table from which the browser draws a chart; the template `chart` shows both. Pure.
struct ChartTable {
    enum Style: String {
        case line, bar
        /// Bars on top of each other: shares of one whole.
        case stacked
    }

    enum Row {
        /// Microseconds since 1970: the beginning of a bucket.
        case time(Int64)
        /// - Parameter address: what the label leads to, with the proxy's prefix.
        case label(String, address: String? = nil)
    }

    struct Column {
        var name: String
        /// UCUM, and `%` for shares.
        var unit = "1"
        /// One for each row; `nil` is a gap.
        var values: [Double?]
        /// `false` for what stands in the table alone.
        var isDrawn = true
        /// One of the names that `charts.js` knows; `nil` for the next one.
        var color: String?

        /// The head in a file, where cells have no unit.
        fileprivate var head: String { unit == "1" ? name : "\(name) (\(unit == "%" ? "1" : unit))" }
    }

    var id: String
    var title: String
    var caption: String
    var style = Style.line
    /// Above the rows' labels.
    var rowsName = "Time"
    var rows: [Row] = []
    var columns: [Column] = []
    /// How many more columns there would be.
    var leftOut = 0
    /// Ways to more, with the proxy's prefix.
    var links: [(label: String, address: String)] = []

    /// More lines cannot be distinguished.
    static let maximumLines = 8

    /// The values for the template.
    var values: JSONValue {
        [
            "id": .text(id), "title": .text(title), "caption": .text(caption), "style": .text(style.rawValue),
            "rowsName": .text(rowsName), "unit": .text(columns.first?.unit ?? ""),
            "isOfTime": .boolean(isOfTime), "leftOut": leftOut > 0 ? JSONValue(leftOut) : .null,
            "hasLinks": .boolean(!links.isEmpty),
            "links": .array(links.map { ["label": .text($0.label), "address": .text($0.address)] }),
            "columns": .array(
                columns.map {
                    [
                        "name": .text($0.name), "isOnlyListed": .boolean(!$0.isDrawn), "color": JSONValue($0.color),
                    ]
                }),
            "rows": .array(columns.isEmpty ? [] : rows.indices.map(row)),
        ]
    }

    private func row(_ index: Int) -> JSONValue {
        let cells = columns.map { column -> JSONValue in
            guard index < column.values.count, let value = column.values[index] else { return [:] }
            return [
                "value": .text(String(format: "%.5g", value)), "text": .text(DisplayText.quantity(value, column.unit)),
            ]
        }
        return switch rows[index] {
        case .time(let time): ["at": .text(Timestamp.text(time)), "cells": .array(cells)]
        case .label(let label, let address):
            ["label": .text(label), "address": JSONValue(address), "cells": .array(cells)]
        }
    }

    private var isOfTime: Bool { if case .time = rows.first { true } else { false } }
}

extension ChartTable {
    /// All of some tables as one, with the title of each and all columns that any of them has.
    static func csv(_ tables: [ChartTable]) -> [[String]] {
        var heads: [String] = []
        for column in tables.flatMap(\.columns) where !heads.contains(column.head) { heads.append(column.head) }
        let rows = tables.flatMap { table in
            table.rows.indices.map { index -> [String] in
                let label =
                    switch table.rows[index] {
                    case .time(let time): Timestamp.text(time)
                    case .label(let label, _): label
                    }
                return [table.title, label]
                    + heads.map { head in
                        let column = table.columns.first { $0.head == head }
                        return column?.values[index].map(DisplayText.plain) ?? ""
                    }
            }
        }
        return [["Chart", tables.first?.rowsName ?? "Time"] + heads] + rows
    }

    /// The beginnings of buckets.
    /// - Parameters:
    ///   - from: as in an answer of the API.
    ///   - step: seconds.
    static func times(from: String, step: Int64?, count: Int) -> [Row] {
        let (begin, step) = (Timestamp.parse(from) ?? 0, (step ?? 1) * 1_000_000)
        return (0..<count).map { .time(begin + Int64($0) * step) }
    }

    /// Returns a name for each set of attributes: the values that differ, in the order of their keys.
    static func names(of sets: [[String: String]]) -> [String] {
        let keys = Set(sets.flatMap(\.keys)).sorted().filter { key in
            // The name of an interface says as much.
            key != "ws1.network.class" && Set(sets.map { $0[key] }).count > 1
        }
        return sets.map { set in keys.compactMap { set[$0] }.joined(separator: " ") }
    }
}
