import Testing

@testable import ClickHouse

@Suite struct ReplicaHealthTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test func `Replicas are asked in the order of the configuration`() {
        var health = ReplicaHealth(count: 3)
        #expect(health.order(now: start) == [0, 1, 2])
    }

    @Test func `A replica that failed is asked last, and tried by one request after the pause`() {
        var health = ReplicaHealth(count: 3)
        health.failed(0, now: start)
        #expect(health.order(now: at(4)) == [1, 2, 0])
        #expect(health.order(now: at(5)) == [0, 1, 2])
        #expect(health.order(now: at(5)) == [1, 2, 0], "others still ask it last")
        health.answered(0)
        #expect(health.order(now: at(6)) == [0, 1, 2])
    }

    @Test func `The pause doubles with each further failure, up to a minute`() {
        var health = ReplicaHealth(count: 2)
        var now = 0
        for pause in [5, 10, 20, 40, 60, 60] {
            health.failed(0, now: at(now))
            #expect(health.order(now: at(now + pause - 1)) == [1, 0], "pause \(pause)")
            #expect(health.order(now: at(now + pause)) == [0, 1], "pause \(pause)")
            now += pause
        }
    }

    @Test func `Requests that fail side by side count as one failure`() {
        var health = ReplicaHealth(count: 2)
        for _ in 0..<50 { health.failed(0, now: start) }
        #expect(health.order(now: at(5)) == [0, 1])
    }

    @Test func `Of replicas that all failed, the first to fail is asked first`() {
        var health = ReplicaHealth(count: 3)
        health.failed(2, now: at(0))
        health.failed(0, now: at(1))
        health.failed(1, now: at(2))
        #expect(health.order(now: at(3)) == [2, 0, 1])
    }
}
