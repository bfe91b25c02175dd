import DeviceTestKit
import Testing

@testable import SampleModules

/// Against a real message bus, and a logind of the test's own that answers as systemd 252 does.
@Suite(.timeLimit(.minutes(5))) struct LogindConnectionTests {
    /// Events up to the one wanted.
    private static func events(
        _ events: inout AsyncStream<LogindEvent>.Iterator, upTo wanted: LogindEvent
    ) async -> [LogindEvent] {
        var seen: [LogindEvent] = []
        while let event = await events.next() {
            seen.append(event)
            if event == wanted { break }
        }
        return seen
    }

    @Test func `It reports first who is there`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus, session: .init(name: "no-such-login"))
        defer { logind.stop() }
        var events = LogindConnection(address: bus.address).events.makeAsyncIterator()
        #expect(
            await Self.events(&events, upTo: .connected) == [.user(SessionUser(name: "no-such-login")), .connected])
    }

    @Test func `A screen is unlocked by a signal or by a hint`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus)
        defer { logind.stop() }
        var events = LogindConnection(address: bus.address).events.makeAsyncIterator()
        _ = await Self.events(&events, upTo: .connected)
        logind.unlock()
        #expect(await events.next() == .unlocked)
        logind.hint(locked: true)
        #expect(await events.next() == .locked)
        logind.hint(locked: false)
        #expect(await events.next() == .unlocked)
    }

    @Test func `The inhibitor is held until it is let go`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus)
        defer { logind.stop() }
        let connection = LogindConnection(address: bus.address)
        var events = connection.events.makeAsyncIterator()
        _ = await Self.events(&events, upTo: .connected)
        #expect(logind.heldInhibitors == 0)
        connection.hold()
        connection.hold()
        #expect(await events.next() == .delaying(failure: nil))
        #expect(logind.heldInhibitors == 1)
        #expect(logind.inhibitRequests.map { [$0.first, $0.last] } == [["sleep:shutdown", "delay"]])
        for prepare in [logind.sleep, logind.shutdown] {
            prepare(true)
            #expect(await events.next() == .pausing)
            #expect(logind.heldInhibitors == 1, "until we say so")
            connection.letGo()
            #expect(await logind.areReleased())
            prepare(false)
            #expect(await events.next() == .resumed)
            connection.hold()
            #expect(await events.next() == .delaying(failure: nil))
            #expect(logind.heldInhibitors == 1)
        }
    }

    @Test func `Whoever stops listening holds nothing`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus)
        defer { logind.stop() }
        let listening = Task {
            let connection = LogindConnection(address: bus.address)
            for await event in connection.events where event == .connected { connection.hold() }
        }
        try await logind.untilHeld()
        listening.cancel()
        await listening.value
        #expect(await logind.areReleased())
    }

    @Test func `A refused inhibitor has a reason`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus, refusesInhibitors: true)
        defer { logind.stop() }
        let connection = LogindConnection(address: bus.address)
        var events = connection.events.makeAsyncIterator()
        _ = await Self.events(&events, upTo: .connected)
        connection.hold()
        #expect(await events.next() == .delaying(failure: "org.freedesktop.DBus.Error.AccessDenied"))
    }

    @Test func `The user is the one of the active session`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus)
        defer { logind.stop() }
        var events = LogindConnection(address: bus.address).events.makeAsyncIterator()
        #expect(await Self.events(&events, upTo: .connected).first == .user(nil))
        logind.activate(.init(name: "first"))
        #expect(await events.next() == .user(SessionUser(name: "first")))
        logind.activate(.init(name: "gdm", sessionClass: "greeter"))
        #expect(await events.next() == .user(nil), "a login screen is nobody")
        logind.activate(.init(name: "second"))
        #expect(await events.next() == .user(SessionUser(name: "second")))
        logind.activate(nil)
        #expect(await events.next() == .user(nil))
    }

    @Test(
        arguments: [
            ("Ada Lovelace,Room 1,,", "Ada Lovelace"), ("Ada", "Ada"), ("", nil), (",Room 1", nil),
        ] as [(String, String?)])
    func `The full name is the comment's first field`(comment: String, name: String?) {
        #expect(AccountNames.fullName(comment: comment) == name)
    }

    @Test func `It ends with a reason`() async throws {
        var none = LogindConnection(address: "unix:path=/nonexistent/bus").events.makeAsyncIterator()
        guard case .ended(let why)? = await none.next() else {
            Issue.record("no end")
            return
        }
        #expect(why.contains("/nonexistent/bus"))
        #expect(await none.next() == nil)

        let bus = try PrivateBus()
        var alone = LogindConnection(address: bus.address).events.makeAsyncIterator()
        guard case .ended(let what)? = await alone.next() else {
            Issue.record("no end")
            return
        }
        #expect(what.contains("org.freedesktop.login1"))

        let logind = try ScriptedLogind(on: bus)
        defer { logind.stop() }
        var events = LogindConnection(address: bus.address).events.makeAsyncIterator()
        _ = await Self.events(&events, upTo: .connected)
        try bus.restart()
        #expect(await events.next() == .ended("the bus hung up"))
        #expect(await events.next() == nil)
    }
}
