import Foundation
import Testing
import WireModel

@testable import DataSampler

@Suite struct AnalyticsEventTests {
    @Test(
        arguments: [
            ("", .string, .string("")), ("42", .integer, .integer(42)),
            ("-9223372036854775808", .integer, .integer(.min)),
            ("1.5e3", .double, .double(1500)), ("true", .boolean, .boolean(true)), ("false", .boolean, .boolean(false)),
            ("2026-03-01T12:00:00Z", .date, .date(Date(timeIntervalSince1970: 1_772_366_400))),
            ("2026-03-01T12:00:00.500Z", .date, .date(Date(timeIntervalSince1970: 1_772_366_400.5))),
            ("2026-03-01T17:30:00+05:30", .date, .date(Date(timeIntervalSince1970: 1_772_366_400))),
            ("2026-03-01T07:00:00-0500", .date, .date(Date(timeIntervalSince1970: 1_772_366_400))),
            ("1969-12-31T23:59:59Z", .date, .date(Date(timeIntervalSince1970: -1))),
            ("2000-02-29T00:00:00Z", .date, .date(Date(timeIntervalSince1970: 951_782_400))),
            ("2024-12-31T23:59:59Z", .date, .date(Date(timeIntervalSince1970: 1_735_689_599))),
            ("0001-01-01T00:00:00Z", .date, .date(Date(timeIntervalSince1970: -62_135_596_800))),
        ] as [(String, EventValueType, EventValue)]) func `Text is read as its type says`(
            text: String, type: EventValueType, expected: EventValue
        ) throws
    {
        let value = try EventValue(text, type: type)
        #expect(value == expected)
    }

    @Test(
        arguments: [
            ("", .integer), ("1.5", .integer), ("9223372036854775808", .integer), ("1,5", .double), ("nan", .double),
            ("inf", .double),
            ("yes", .boolean), ("1", .boolean), ("TRUE", .boolean), ("yesterday", .date),
            ("2026-13-01T00:00:00Z", .date),
            ("2026-02-29T00:00:00Z", .date), ("2100-02-29T00:00:00Z", .date), ("2026-04-31T00:00:00Z", .date),
            ("2026-01-01T24:00:00Z", .date), ("2026-01-01T12:60:00Z", .date), ("2026-01-01T12:00:60Z", .date),
            ("2026-01-01T12:00:00Zulu", .date), ("2026-01-01T12:00:00", .date), ("2026-01-01T12:00:00.Z", .date),
            ("2026-1-1T1:0:0Z", .date), ("2026-01-01T00:00:00+24:00", .date),
        ] as [(String, EventValueType)]) func `Text that is not of its type is an error`(
            text: String, type: EventValueType
        )
    {
        let error = #expect(throws: DataSamplerError.self) { try EventValue(text, type: type) }
        #expect(error?.code == .invalidEvent)
    }

    @Test func `Values arrive on the wire as they are`() throws {
        let attributes: [String: EventValue] = [
            "i": .integer(-1), "d": .double(0.5), "b": .boolean(false),
            "t": .date(Date(timeIntervalSince1970: 1.000001)),
        ]
        let message = try AnalyticsEvent(name: "n", value: .string("v"), attributes: attributes).message
        #expect(message.type == .custom)
        #expect(message.value.text == "v")
        #expect(message.attributes["i"]?.integer == -1)
        #expect(message.attributes["d"]?.real == 0.5)
        #expect(message.attributes["b"]?.value == .boolean(false))
        #expect(message.attributes["t"]?.date == 1_000_001)
    }

    @Test func `What is out of bounds is an error and never cut short`() {
        let long = String(repeating: "x", count: 257)
        let many = Dictionary(uniqueKeysWithValues: (0..<65).map { ("k\($0)", EventValue.integer(1)) })
        let heavy = Dictionary(
            uniqueKeysWithValues: (0..<4).map { ("k\($0)", EventValue.string(String(repeating: "x", count: 65_536))) })
        let events: [() throws -> AnalyticsEvent] = [
            { try AnalyticsEvent(name: "", value: .integer(1)) },
            { try AnalyticsEvent(name: long, value: .integer(1)) },
            { try AnalyticsEvent(name: "n", value: .double(.nan)) },
            { try AnalyticsEvent(name: "n", value: .double(.infinity)) },
            { try AnalyticsEvent(name: "n", value: .string(String(repeating: "x", count: 65_537))) },
            { try AnalyticsEvent(name: "n", value: .date(.distantFuture.addingTimeInterval(1e18))) },
            { try AnalyticsEvent(name: "n", value: .integer(1), attributes: many) },
            { try AnalyticsEvent(name: "n", value: .integer(1), attributes: ["": .integer(1)]) },
            { try AnalyticsEvent(name: "n", value: .integer(1), attributes: heavy) },
            { try AnalyticsEvent(WireEvent()) },
        ]
        for event in events {
            let error = #expect(throws: DataSamplerError.self) { try event() }
            #expect(error?.code == .invalidEvent)
        }
    }
}

@Suite struct UsageEventTests {
    @Test func `Usage events report type, outcome and duration, and need no value`() throws {
        let launch = try AnalyticsEvent(.launch).message
        #expect(launch.type == .launch && !launch.hasSucceeded && !launch.hasDurationMicroseconds && !launch.hasValue)
        let call = try AnalyticsEvent(
            .enrollmentCall(.failed, duration: .milliseconds(1500)), attributes: ["status": .integer(503)]
        )
        .message
        #expect(
            call.type == .enrollmentCall && call.hasSucceeded && !call.succeeded
                && call.durationMicroseconds == 1_500_000)
        #expect(call.attributes["status"]?.integer == 503)
        let action = try AnalyticsEvent(.sdkAction("logs.send", .succeeded)).message
        #expect(
            action.type == .sdkAction && action.name == "logs.send" && action.succeeded
                && !action.hasDurationMicroseconds)
    }

    @Test(
        arguments: [
            .enrollmentCall(.succeeded, duration: .seconds(-1)),
            .enrollmentCall(.succeeded, duration: .seconds(Int64.max)),
            .sdkAction("", .failed), .sdkAction(String(repeating: "é", count: 129), .failed),
        ] as [UsageEvent]) func `A usage event out of bounds is an error`(usage: UsageEvent)
    {
        let error = #expect(throws: DataSamplerError.self) { try AnalyticsEvent(usage) }
        #expect(error?.code == .invalidEvent)
    }

    private static func message(_ change: (inout WireEvent) -> Void) -> WireEvent {
        var message = WireEvent()
        message.type = .custom
        message.name = "n"
        message.value.integer = 1
        change(&message)
        return message
    }

    @Test(
        arguments: [
            message { $0.clearValue() }, message { $0.value = WireValue() }, message { $0.value.real = .nan },
            message { $0.value.text = String(repeating: "x", count: 65_537) },
            message { $0.attributes["a"] = WireValue() },
            message { $0.attributes["a", default: WireValue()].real = -.infinity },
            message { $0.sessionID = Data([1, 2, 3]) },
            message {
                $0.type = .launch
                $0.value.real = .infinity
            },
        ]) func `What another program hands over is held to the same bounds`(message: WireEvent)
    {
        let error = #expect(throws: DataSamplerError.self) { try AnalyticsEvent(message) }
        #expect(error?.code == .invalidEvent)
    }

    @Test func `Exactly at its bounds an event is taken`() throws {
        let text = String(repeating: "x", count: 65_536)
        let attributes = Dictionary(
            uniqueKeysWithValues: (100..<164).map {
                ("\($0)" + String(repeating: "k", count: 125), EventValue.integer(1))
            })
        let event = try AnalyticsEvent(
            name: String(repeating: "n", count: 256), value: .string(text), attributes: attributes)
        #expect(event.message.attributes.count == 64)
        let extremes: [EventValue] = [
            .integer(.min), .integer(.max), .double(.greatestFiniteMagnitude), .double(-0.0),
            .double(.leastNonzeroMagnitude),
            .date(Date(timeIntervalSince1970: -8e12)), .date(Date(timeIntervalSince1970: 8e12)), .string(""),
        ]
        for value in extremes { #expect(try AnalyticsEvent(name: "n", value: value).message.hasValue) }
        #expect(throws: DataSamplerError.self) {
            try AnalyticsEvent(name: "n", value: .date(Date(timeIntervalSince1970: .nan)))
        }
    }
}
