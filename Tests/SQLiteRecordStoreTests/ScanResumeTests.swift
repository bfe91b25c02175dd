import Foundation
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import SQLiteRecordStore

/// Where a scan goes on, as forwarding uses it.
@Suite struct ScanResumeTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private static let query = RecordQuery(.all, stream: .event)

    @Test func `A file that ends before the place where a scan goes on is read anew`() async throws {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice(stream: .event)
        device.produce(3)
        try await store.drain(&device)
        let end = try #require(try await store.scan(Self.query, after: nil).resume)
        // The file had more slices before a salvage replaced it.
        let parts = end.split(separator: "-")
        let page = try await store.scan(Self.query, after: "\(parts[0])-999-0")
        #expect(page.records.map(\.header.number) == [1, 2, 3])
        #expect(page.resume == end)
        await store.shutDown()
    }

    @Test func `Records of other kinds and of test data are passed, and not read again`() async throws {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice(stream: .event)
        var query = Self.query
        query.kinds = [WireRecordKind.event.rawValue]
        device.produce(1, kind: .otlpLog)
        device.produce(1, kind: .event)
        try await store.drain(&device)
        let first = try await store.scan(query, after: nil)
        #expect(first.records.map(\.header.number) == [2] && first.next == nil)
        device.produce(1, kind: .event)
        try await store.drain(&device)
        let second = try await store.scan(query, after: first.resume)
        #expect(second.records.map(\.header.number) == [3])
        await store.shutDown()
    }
}
