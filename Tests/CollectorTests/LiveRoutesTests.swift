import CollectorTunables
import Registry
import Testing
import WireModel

@testable import Collector

@Suite struct LiveRoutesTests {
    /// A device becomes late although nothing happens. However many people look, a page a second loads at most.
    @Test func `A live page loads from time to time, although nothing happens`() {
        let device = DeviceID.random()
        for topics: [LiveTopic] in [[.devices], [.notices], [.jobs], [.commandsOf(device), .devices]] {
            #expect(!LiveRoutes.isStale(topics, after: Tunables.LivePages.refreshSeconds - 1, streams: 1))
            #expect(LiveRoutes.isStale(topics, after: Tunables.LivePages.refreshSeconds, streams: 1))
            #expect(!LiveRoutes.isStale(topics, after: 199, streams: 200))
            #expect(LiveRoutes.isStale(topics, after: 200, streams: 200))
        }
        for topics: [LiveTopic] in [[.logs], [.logsOf(device)], [.commandsOf(device)]] {
            #expect(!LiveRoutes.isStale(topics, after: 10_000, streams: 1), "a list that somebody reads")
        }
    }
}
