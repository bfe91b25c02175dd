import ArgumentParser
import CommandKit
import JSON
import Testing

@testable import CtlCommands

@Suite struct CommandArgumentTests {
    @Test func `Arguments of a command are text, or JSON where asked for`() throws {
        #expect(
            try IssuedSend.object(["text=a=b:=c", "n:=5", "list:=[\"x\"]", "empty="]) == [
                "text": "a=b:=c", "n": 5, "list": ["x"], "empty": "",
            ])
    }

    @Test(arguments: [["x"], ["=x"], ["n:=no json"], ["a=1", "a=2"]])
    func `An argument that cannot be meant is refused`(_ arguments: [String]) {
        let error = #expect(throws: CommandError.self) { try IssuedSend.object(arguments) }
        #expect(error?.code == .usage)
    }

    @Test func `Commands that are called wrongly are refused before a collector is asked`() throws {
        #expect(throws: CommandError.self) { try ListLimit.of(1, all: true) }
        #expect(throws: CommandError.self) { try ListLimit.of(0, all: false) }
        #expect(try ListLimit.of(nil, all: false) == 100)
        #expect(try ListLimit.of(nil, all: true) == nil)
        let times = try TimeOptions.parse(["--since", "1h", "--until", "2h"])
        #expect(throws: CommandError.self) { try times.query(now: 8_000_000_000) }
    }

    @Test func `A series becomes a row for each step that has a value`() {
        let answer: JSONValue = [
            "from": "2026-01-31T12:00:00.000000Z", "stepSeconds": 60,
            "series": [["attributes": ["cpu": "0"], "values": ["mean": [1, .null, 3]]]],
        ]
        let (columns, rows) = MetricSeries.table(answer, isDevice: true)
        #expect(columns.map(\.title) == ["from", "mean", "attributes"])
        #expect(rows.map { $0["mean"] } == [1, 3])
        #expect(rows.last?["from"] == "2026-01-31T12:02:00.000000Z")
    }

    @Test func `Series of OTLP show what tells them apart`() {
        let answer: JSONValue = [
            "from": "2026-01-31T12:00:00.000000Z", "stepSeconds": 60,
            "series": [
                ["scope": "shop", "attributes": [:], "values": ["mean": [1]]],
                ["scope": "till", "attributes": [:], "values": ["mean": [2]]],
            ],
        ]
        let (columns, rows) = MetricSeries.table(answer, isDevice: true)
        #expect(columns.map(\.title) == ["from", "mean", "scope", "attributes"])
        #expect(rows.map { $0["scope"] } == ["shop", "till"])
    }
}
