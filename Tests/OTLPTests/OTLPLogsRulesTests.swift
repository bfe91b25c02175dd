import Foundation
import OTLP
import Testing

@Suite struct OTLPLogsRulesTests {
    private func checked(_ records: [OTLPLogRecord]) -> (kept: [OTLPLogRecord], tally: OTLPTally) {
        var request = Sample.logs(records)
        let tally = request.removeForbidden()
        return (request.resourceLogs[0].scopeLogs[0].logRecords, tally)
    }

    @Test func `Good records stay as they are, and nothing is said`() {
        var request = Sample.logs
        let tally = request.removeForbidden()
        #expect(request == Sample.logs)
        #expect(tally.items == 2)
        #expect(tally.rejected == 0)
        #expect(tally.message(.logs) == "")
    }

    @Test(arguments: [(256, true), (257, false)]) func `An event name has at most 256 characters`(
        length: Int, isGood: Bool
    ) {
        for letter in ["e", "é", "😀"] {
            var record = Sample.record
            record.eventName = String(repeating: letter, count: length)
            let (kept, tally) = checked([Sample.record, record, Sample.record])
            #expect(kept.count == (isGood ? 3 : 2))
            #expect(tally.count(of: .eventNameTooLong) == (isGood ? 0 : 1))
        }
    }

    @Test(arguments: [2, 16, 17, 200]) func `A key that is there twice rejects the record`(count: Int) {
        var record = Sample.record
        record.attributes = (0..<count).map { Sample.attribute("k\($0)") }
        #expect(checked([record]).tally.rejected == 0)
        record.attributes[count - 1].key = "k0"
        let (kept, tally) = checked([record, Sample.record])
        #expect(kept == [Sample.record])
        #expect(tally.count(of: .duplicateAttribute) == 1)
        #expect(tally.message(.logs).contains("first at resource_logs[0].scope_logs[0].log_records[0]"))
    }

    @Test func `Keys are compared by their bytes`() {
        var record = Sample.record
        record.attributes = [Sample.attribute("\u{e9}"), Sample.attribute("e\u{301}")]
        #expect(checked([record]).tally.rejected == 0)
    }

    @Test func `A map among the values has unique keys too`() {
        var record = Sample.record
        record.body = Sample.value {
            $0.arrayValue.values = [
                Sample.value { $0.kvlistValue.values = [Sample.attribute("k"), Sample.attribute("k")] }
            ]
        }
        #expect(checked([record]).tally.count(of: .duplicateAttribute) == 1)
        record.body = OTLPAnyValue()
        record.attributes = [
            Sample.attribute("m", Sample.value { $0.kvlistValue.values = [.init(), .init()] })
        ]
        #expect(checked([record]).tally.count(of: .duplicateAttribute) == 1)
    }

    @Test func `A resource or scope with a key twice rejects what it holds, and nothing else`() {
        var request = Sample.logs
        request.resourceLogs.append(request.resourceLogs[0])
        request.resourceLogs[1].resource.attributes = [Sample.attribute("host.id"), Sample.attribute("host.id", "y")]
        request.resourceLogs[0].scopeLogs.append(request.resourceLogs[0].scopeLogs[0])
        request.resourceLogs[0].scopeLogs[1].scope.attributes = [Sample.attribute("a"), Sample.attribute("a")]
        let tally = request.removeForbidden()
        #expect(tally.items == 6)
        #expect(tally.rejected == 4)
        #expect(request.resourceLogs[0].scopeLogs[0].logRecords.count == 2)
        #expect(request.resourceLogs[0].scopeLogs[1].logRecords.isEmpty)
        #expect(request.resourceLogs[1].scopeLogs[0].logRecords.isEmpty)
        #expect(tally.message(.logs).contains("first at resource_logs[0].scope_logs[1].scope"))
    }

    @Test func `A wrong identifier goes away, and the record stays`() {
        for (trace, span) in [(Data([1]), Sample.span), (Sample.trace, Data(count: 8)), (Data(count: 17), Data())] {
            var record = Sample.record
            (record.traceID, record.spanID) = (trace, span)
            let (kept, tally) = checked([record])
            #expect(tally.rejected == 0)
            #expect(tally.count(of: .identifierLength) == 1)
            #expect(kept[0].traceID == (trace == Sample.trace ? trace : Data()))
            #expect(kept[0].spanID == (span == Sample.span ? span : Data()))
            #expect(tally.message(.logs).contains("warning"))
        }
    }

    @Test func `A reference into a profile is taken as no value`() {
        var record = Sample.record
        record.attributes.append(
            Sample.attribute("p", Sample.value { $0.arrayValue.values = [Sample.value { $0.stringValueStrindex = 3 }] })
        )
        record.body.stringValueStrindex = 4
        let (kept, tally) = checked([record])
        #expect(tally.rejected == 0)
        #expect(tally.count(of: .profilesReference) == 1)
        #expect(kept[0].body.value == nil)
        #expect(kept[0].attributes.last?.value.arrayValue.values == [OTLPAnyValue()])
    }

    @Test func `A record without a time stays`() {
        #expect(checked([OTLPLogRecord()]).tally.rejected == 0)
    }
}
