import Foundation
import LogStore
import OTLP
import SwiftProtobuf
import Synchronization
import Testing
import WireModel

@testable import Intake

/// Log records as lines, and the inbox that they wait in.
@Suite struct OTLPLinesTests {
    private static let arrival: Int64 = 1_795_305_088_000_000

    private static func attribute(_ key: String, _ value: OTLPAnyValue.OneOf_Value) -> OTLPKeyValue {
        var attribute = OTLPKeyValue()
        attribute.key = key
        attribute.value.value = value
        return attribute
    }

    private static func lines(
        _ change: (inout OTLPLogRecord) -> Void, group: (inout OTLPResourceLogs) -> Void = { _ in }
    ) -> OTLPLines {
        var record = OTLPLogRecord()
        change(&record)
        var logs = OTLPResourceLogs()
        logs.scopeLogs = [OTLPScopeLogs()]
        group(&logs)
        logs.scopeLogs[0].logRecords = [record]
        var request = OTLPLogsRequest()
        request.resourceLogs = [logs]
        return OTLPLines(request, OTLPTally(), arrival: arrival)
    }

    @Test func `Each part of a log record has its place in the line`() throws {
        let lines = Self.lines {
            $0.timeUnixNano = 1_795_305_000_000_000_999
            $0.observedTimeUnixNano = 1_795_305_001_000_000_000
            $0.severityNumber = .error2
            $0.severityText = "bad"
            $0.eventName = "shop.sale"
            $0.body.stringValue = "sold"
            $0.traceID = Data(repeating: 0xAB, count: 16)
            $0.spanID = Data(repeating: 1, count: 8)
            $0.flags = 1
            $0.droppedAttributesCount = 2
            $0.attributes = [
                Self.attribute("price", .doubleValue(2.5)), Self.attribute("severity", .stringValue("own")),
                Self.attribute("resource.host.id", .intValue(-1)), Self.attribute("raw", .bytesValue(Data([0, 255]))),
                Self.attribute("", .boolValue(true)),
            ]
        } group: {
            $0.schemaURL = "https://schema.example/1"
            $0.resource.attributes = [Self.attribute("host.id", .stringValue("h"))]
            $0.scopeLogs[0].scope.name = "till"
            $0.scopeLogs[0].scope.version = "7"
            $0.scopeLogs[0].scope.attributes = [Self.attribute("kind", .stringValue("k"))]
            $0.scopeLogs[0].schemaURL = "https://schema.example/2"
        }
        let line = try #require(lines.lines.first)
        #expect(line.time == 1_795_305_000_000_000)
        #expect(line.entry.level == .error && line.entry.category == "till" && line.entry.message == "sold")
        #expect(
            line.entry.metadata == [
                "severityNumber": "18", "severity": "bad", "event": "shop.sale",
                "traceID": String(repeating: "ab", count: 16), "spanID": String(repeating: "01", count: 8),
                "flags": "1", "droppedAttributes": "2", "observed": "2026-11-21T23:50:01.000000Z",
                "price": "2.5", "attribute.severity": "own", "attribute.resource.host.id": "-1", "raw": "AP8=",
                "": "true", "resource.host.id": "h", "resourceSchema": "https://schema.example/1",
                "scopeVersion": "7", "scope.kind": "k", "scopeSchema": "https://schema.example/2",
            ])
    }

    @Test(arguments: [
        (0, LogLevel.information), (1, .verbose), (8, .verbose), (9, .information), (12, .information), (13, .warning),
        (16, .warning), (17, .error), (24, .error), (25, .error), (-1, .information),
    ])
    func `The number of the severity is the level`(number: Int, level: LogLevel) throws {
        let lines = Self.lines { $0.severityNumber = .init(rawValue: number) ?? .unspecified }
        #expect(lines.lines.first?.entry.level == level)
    }

    @Test func `A time that cannot be true is kept as text, and the arrival stands for it`() throws {
        for (time, isTaken) in [
            (Self.arrival + 86_400_000_000, true), (Self.arrival + 86_400_000_001, false),
            (Self.arrival - 365 * 86_400_000_000, true), (Self.arrival - 365 * 86_400_000_000 - 1, false),
        ] {
            let line = try #require(Self.lines { $0.timeUnixNano = UInt64(time) * 1000 }.lines.first)
            #expect(line.time == (isTaken ? time : Self.arrival))
            #expect((line.entry.metadata["sent"] == nil) == isTaken)
        }
        #expect(Self.lines { $0.timeUnixNano = .max }.lines.first?.time == Self.arrival)
        #expect(Self.lines { _ in }.lines.first?.time == Self.arrival)
        let observed = Self.lines { $0.observedTimeUnixNano = UInt64(Self.arrival - 1) * 1000 }
        #expect(observed.lines.first?.time == Self.arrival - 1)
    }

    @Test func `Values that are no text are JSON without types`() {
        var inner = OTLPKeyValueList()
        inner.values = [
            Self.attribute("q\"\\\n\u{1}", .stringValue("ö\t")), Self.attribute("n", .intValue(.min)),
        ]
        var list = OTLPArrayValue()
        var empty = OTLPAnyValue()
        empty.value = nil
        list.values = [.with { $0.boolValue = true }, empty, .with { $0.doubleValue = .infinity }]
        inner.values.append(Self.attribute("l", .arrayValue(list)))
        let line = Self.lines { $0.body.kvlistValue = inner }.lines.first
        #expect(
            line?.entry.message
                == #"{"q\"\\\n\u0001":"ö\t","n":-9223372036854775808,"l":[true,null,"inf"]}"#)
        #expect(Self.lines { _ in }.lines.first?.entry.message == "")
    }

    @Test func `A name of a scope that is no category is metadata`() {
        let lines = Self.lines { _ in
        } group: {
            $0.scopeLogs[0].scope.name = "two words"
        }
        #expect(lines.lines.first?.entry.category == "" && lines.lines.first?.entry.metadata["scope"] == "two words")
    }

    @Test func `A line that is too long is told to its sender`() {
        let fits = Self.lines { $0.body.stringValue = String(repeating: "x", count: 60_000) }
        #expect(fits.tally.count(of: .lineCut) == 0)
        let cut = Self.lines { $0.body.stringValue = String(repeating: "x", count: 70_000) }
        #expect(cut.tally.count(of: .lineCut) == 1 && cut.tally.rejected == 0)
        #expect(cut.tally.message(.logs).contains("its end is left out"))
    }

    // MARK: The inbox

    @Test func `A request is stored or given back as a whole, and its room is free then`() throws {
        let lines = Self.lines { $0.body.stringValue = "x" }
        let arrivals = OutcomeLog()
        let inbox = OTLPInbox(maximumBytes: 2 * lines.bytes) { arrivals.add("arrived") }
        #expect(inbox.add(lines, at: 1) { arrivals.add("first \($0)") })
        #expect(inbox.add(lines, at: 2) { arrivals.add("second \($0)") })
        #expect(!inbox.add(lines, at: 3) { arrivals.add("third \($0)") } && !inbox.reserve(1))
        #expect(inbox.next() == lines.lines)
        // What is being stored is not given back.
        inbox.expire(before: 10)
        inbox.settle(.stored)
        #expect(inbox.waitingBytes == lines.bytes && inbox.reserve(1))
        inbox.release(1)
        inbox.expire(before: 2)
        #expect(inbox.waitingBytes == lines.bytes)
        inbox.expire(before: 3)
        #expect(inbox.waitingBytes == 0 && inbox.next() == nil)
        #expect(inbox.add(lines, at: 4) { arrivals.add("fourth \($0)") })
        _ = inbox.next()
        inbox.settle(.failed)
        inbox.close()
        #expect(!inbox.add(lines, at: 5) { arrivals.add("fifth \($0)") })
        #expect(
            arrivals.entries == ["arrived", "arrived", "first stored", "second failed", "arrived", "fourth failed"])
    }

    @Test func `A day's bytes begin anew at midnight, and not when the clock goes back`() {
        var quota = DailyQuota(limit: 100)
        let midnight: Int64 = 20_000 * 86_400_000_000
        #expect(quota.secondsUntilRoom(for: 100, at: midnight - 5_000_000) == nil)
        quota.take(100, at: midnight - 5_000_000)
        #expect(quota.secondsUntilRoom(for: 1, at: midnight - 5_000_000) == 6)
        #expect(quota.secondsUntilRoom(for: 1, at: midnight - 86_400_000_000) != nil)
        #expect(quota.secondsUntilRoom(for: 100, at: midnight) == nil)
        #expect(quota.secondsUntilRoom(for: 101, at: midnight) == nil, "no day would have room for it")
        quota.take(101, at: midnight)
        #expect(quota.secondsUntilRoom(for: 0, at: midnight) != nil)
        var unbounded = DailyQuota(limit: nil)
        #expect(unbounded.secondsUntilRoom(for: .max, at: midnight) == nil)
    }
}

/// What happened, in order.
private final class OutcomeLog: Sendable {
    private let state = Mutex<[String]>([])

    func add(_ entry: String) { state.withLock { $0.append(entry) } }

    var entries: [String] { state.withLock { $0 } }
}
