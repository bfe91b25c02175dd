import CollectorAPI
import DeviceTestKit
import Foundation
import RegistryTestKit
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite(.timeLimit(.minutes(5)), .eachRegistry) struct NoticeMuteTests {
    private static let hour: Int64 = 3_600_000_000
    private static let actor = AuditActor(name: "ann", token: "t", role: .operator)

    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let service: NoticeService
    private let metadata: MetadataService

    init() throws {
        directory = try TemporaryDirectory()
        metadata = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger, exclusive: false
        ).0
        service = NoticeService(metadata: metadata)
    }

    private func rows(_ organization: String? = nil, _ filter: NoticeFilter = NoticeFilter()) async throws
        -> [NoticeRow]
    {
        try await service.page(organization: organization, filter, below: nil, limit: 100).rows
    }

    private func mute(_ notice: NoticeRow?, until: Int64? = nil) async throws {
        _ = try await service.mute(
            try #require(notice).id, organization: nil, until: until, by: Self.actor)
    }

    /// What one look hands on.
    private func posted() async -> [String] {
        let posted = Mutex<[String]>([])
        let sleeper = ManualSleeper()
        let service = service
        let running = Task {
            await NoticeCourier(service: service, logger: quietLogger) { news in
                posted.withLock { $0.append("\(news.notice.subject) \(news.kind.rawValue)") }
                return .delivered
            }.run(on: sleeper)
        }
        await sleeper.waitForSleeper()
        running.cancel()
        await running.value
        return posted.withLock { $0 }
    }

    @Test func `A muted notice is listed and is not open`() async throws {
        for subject in ["a", "b"] { await service.raise(.diskLow, subject: subject, detail: "") }
        await service.raise(.diskLow, organization: "west", subject: "a", detail: "")
        await service.raise(.uploadExpired, organization: "west", subject: "c", detail: "")
        #expect(try await service.openCount(organization: nil) == 3, "an upload that expired has no end")
        try await mute(try await rows("").first { $0.subject == "a" })
        let muted = try await rows().filter { $0.muted != nil }
        #expect(muted.map(\.subject) == ["a"] && muted.map(\.organization) == [""])
        #expect(muted.first?.muted == NoticeMute(by: "ann", at: clock.now()) && muted.first?.isOpen == true)
        #expect(try await service.openCount(organization: nil) == 2)
        #expect(try await service.openCount(organization: "") == 1)
        #expect(try await service.openCount(organization: "west") == 1)
        #expect(try await rows().count == 4)
        _ = try await service.unmute(try #require(muted.first).id, organization: nil, by: Self.actor)
        #expect(try await rows().allSatisfy { $0.muted == nil })
        #expect(try await service.openCount(organization: nil) == 3)
    }

    @Test func `Open notices are found, also by code`() async throws {
        for code in [NoticeRow.Code.diskLow, .deviceSilent, .uploadExpired] {
            await service.raise(code, subject: "s", detail: "")
        }
        await service.end(.deviceSilent, subject: "s")
        #expect(try await rows(nil, NoticeFilter(isOpen: true)).map(\.code) == [.diskLow])
        #expect(try await rows(nil, NoticeFilter(code: .deviceSilent)).map(\.code) == [.deviceSilent])
        #expect(try await rows(nil, NoticeFilter(code: .deviceSilent, isOpen: true)).isEmpty)
        #expect(try await rows(nil, NoticeFilter(code: .uploadExpired)).first?.isOpen == false)
    }

    @Test func `What is raised again stays muted, and its end is recorded`() async throws {
        await service.raise(.deviceSilent, organization: "west", subject: "d", detail: "")
        try await mute(try await rows().first)
        await service.end(.deviceSilent, organization: "west", subject: "d")
        let ended = try #require(try await rows().first)
        #expect(ended.ended == clock.now() && ended.muted != nil)
        clock.advance(days: 2)
        await service.raise(.deviceSilent, organization: "west", subject: "d", detail: "again")
        let again = try await rows()
        #expect(again.count == 2 && again.allSatisfy { $0.muted != nil } && again[0].isOpen)
        #expect(try await service.openCount(organization: nil) == 0)
        // Another device and another cause are not.
        await service.raise(.deviceSilent, organization: "west", subject: "e", detail: "")
        await service.raise(.deviceCompromised, organization: "west", subject: "d", detail: "")
        #expect(try await service.openCount(organization: nil) == 2)
    }

    @Test func `A mute is over by itself`() async throws {
        await service.raise(.diskLow, subject: "a", detail: "")
        try await mute(try await rows().first, until: clock.now() + Self.hour)
        #expect(try await rows().first?.muted?.until == clock.now() + Self.hour)
        clock.advance(seconds: 3599)
        #expect(try await service.openCount(organization: nil) == 0)
        clock.advance(seconds: 1)
        #expect(try await rows().first?.muted == nil)
        #expect(try await service.openCount(organization: nil) == 1)
    }

    // MARK: Webhook

    @Test func `The beginning of a muted notice is not posted until it is unmuted`() async throws {
        #expect(await posted().isEmpty)
        for subject in ["a", "b"] { await service.raise(.diskLow, subject: subject, detail: "") }
        let notice = try #require(try await rows().first { $0.subject == "a" })
        try await mute(notice)
        #expect(await posted() == ["b raised"])
        await service.raise(.diskLow, subject: "a", detail: "still")
        #expect(await posted().isEmpty)
        _ = try await service.unmute(notice.id, organization: nil, by: Self.actor)
        #expect(await posted() == ["a raised"])
        #expect(await posted().isEmpty)
    }

    @Test func `The end is posted if the beginning was`() async throws {
        await service.raise(.diskLow, subject: "a", detail: "")
        #expect(await posted() == ["a raised"])
        try await mute(try await rows().first)
        await service.end(.diskLow, subject: "a")
        #expect(await posted() == ["a ended"])
        // It comes and goes while it is muted: nobody hears of it, also later.
        await service.raise(.diskLow, subject: "a", detail: "")
        await service.end(.diskLow, subject: "a")
        #expect(await posted().isEmpty)
        let newest = try #require(try await rows().first)
        #expect(newest.ended != nil)
        _ = try await service.unmute(newest.id, organization: nil, by: Self.actor)
        #expect(await posted().isEmpty)
        await service.raise(.diskLow, subject: "a", detail: "")
        #expect(await posted() == ["a raised"])
    }

    @Test func `What ended before it was muted and was not posted never is`() async throws {
        #expect(await posted().isEmpty)
        await service.raise(.diskLow, subject: "a", detail: "")
        await service.end(.diskLow, subject: "a")
        let notice = try #require(try await rows().first)
        try await mute(notice)
        _ = try await service.unmute(notice.id, organization: nil, by: Self.actor)
        #expect(await posted().isEmpty)
    }

    @Test func `A mute that is over lets the beginning go out`() async throws {
        #expect(await posted().isEmpty)
        await service.raise(.diskLow, subject: "a", detail: "")
        try await mute(try await rows().first, until: clock.now() + Self.hour)
        #expect(await posted().isEmpty)
        clock.advance(seconds: 3600)
        #expect(await posted() == ["a raised"])
    }

    // MARK: Who and how many

    @Test func `Muting is in the audit trail and within the organization`() async throws {
        await service.raise(.diskLow, subject: "disk", detail: "")
        await service.raise(.deviceSilent, organization: "west", subject: "d", detail: "")
        let notices = try await rows()
        let (own, collectors) = (try #require(notices.first), try #require(notices.last))
        for (id, organization) in [(collectors.id, "west"), (own.id, "east"), (own.id + 99, nil)] as [(Int64, String?)]
        {
            for isMute in [true, false] {
                let error = await #expect(throws: StoreError.self) {
                    isMute
                        ? try await service.mute(id, organization: organization, until: nil, by: Self.actor)
                        : try await service.unmute(id, organization: organization, by: Self.actor)
                }
                #expect(error?.code == .notFound)
            }
        }
        #expect(try await rows().allSatisfy { $0.muted == nil })
        _ = try await service.mute(own.id, organization: "west", until: clock.now() + Self.hour, by: Self.actor)
        for _ in 0..<2 { _ = try await service.unmute(own.id, organization: "west", by: Self.actor) }
        let trail = try await metadata.audit(AuditQuery(organization: "west"), below: nil, limit: 10).rows
        #expect(trail.map(\.entry.action) == [.noticeUnmute, .noticeMute], "nothing is told of what changed nothing")
        #expect(trail.allSatisfy { $0.entry.subject == "d" && $0.entry.actor == Self.actor })
        #expect(trail.last?.entry.detail["code"] == "device-silent" && trail.last?.entry.detail["until"] != nil)
    }

    @Test func `An organization mutes a bounded number`() async throws {
        let session = try TestRegistry.session(directory: directory.path)
        try session.transaction { () throws(StoreError) in
            for number in 1...NoticeMute.maximum {
                try session.run(
                    """
                    INSERT INTO muted_notice (organization, code, subject, actor, at, until)
                    VALUES ('west', 'disk-low', ?, 'ann', 1, ?)
                    """, "\(number)", number == 1 ? clock.now() : nil)
            }
        }
        await service.raise(.deviceSilent, organization: "west", subject: "d", detail: "")
        await service.raise(.deviceSilent, organization: "west", subject: "e", detail: "")
        let notices = try await rows("west")
        // One of the thousand is over, and makes room for one more.
        try await mute(notices[0])
        try await mute(notices[0], until: clock.now() + Self.hour)
        let error = await #expect(throws: StoreError.self) {
            try await service.mute(notices[1].id, organization: nil, until: nil, by: Self.actor)
        }
        #expect(error?.code == .conflict)
        await service.raise(.deviceSilent, organization: "east", subject: "d", detail: "")
        try await mute(try await rows("east").first)
    }
}

@Suite struct NoticeRemedyTests {
    private static func runbook() throws -> [String] {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Documentation/runbook.md")
        return try String(contentsOf: path, encoding: .utf8).components(separatedBy: "\n")
    }

    /// As GitHub makes them of headings.
    private static func anchor(_ heading: Substring) -> String {
        heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }.replacing(" ", with: "-")
    }

    @Test func `Every code leads to its section of the runbook`() throws {
        let lines = try Self.runbook()
        let anchors = Set(lines.filter { $0.hasPrefix("## ") }.map { Self.anchor($0.dropFirst(3)) })
        for code in NoticeRow.Code.allCases {
            #expect(anchors.contains(code.runbook), "\(code)")
            #expect(code.remedy.hasSuffix(".") && code.remedy.count < 140, "\(code)")
            let row = try #require(lines.first { $0.hasPrefix("| `\(code.rawValue)` |") }, "\(code)")
            // The table leads to the same section, or says itself what to do.
            let isLink = row.hasSuffix("(#\(code.runbook)) |")
            #expect(isLink != (code.runbook == "notices-of-the-collector"), "\(code)")
        }
    }
}
