import RecordStore
import StoreTestKit
import Testing
import WireModel

@testable import ClusterStore

/// Which requests share a group, and when it begins.
@Suite struct GroupQueueTests {
    private func job(_ device: ScriptedDevice = Self.device()) throws -> WriterJob {
        WriterJob(device: device.device, receivedAt: 1, work: .append([try #require(device.part())]))
    }

    private static func device() -> ScriptedDevice {
        var device = ScriptedDevice()
        device.produce(1)
        return device
    }

    private func queue(parts: Int = 4) -> GroupQueue { GroupQueue(limits: .init(bytes: 1 << 20, parts: parts)) }

    private func begun(_ step: GroupQueue.Step) throws -> GroupQueue.Group {
        guard case .begin(let group) = step else {
            throw StoreError(.internalFault, "no group began: \(step)")
        }
        return group
    }

    private func isWaiting(_ step: GroupQueue.Step) -> Bool {
        if case .wait = step { true } else { false }
    }

    private func isGathering(_ step: GroupQueue.Step) -> Bool {
        if case .gather = step { true } else { false }
    }

    @Test func `A full group is claimed while another is inserted`() throws {
        var queue = queue()
        queue.arrived(try job())
        let first = try begun(queue.next())
        let step1 = queue.claimed(first.number)
        #expect(step1)
        for _ in 0..<3 { queue.arrived(try job()) }
        let step2 = queue.next()
        #expect(isWaiting(step2))
        queue.arrived(try job())
        queue.arrived(try job())
        let second = try begun(queue.next())
        #expect(second.jobs.count == 4)
        let step3 = queue.claimed(second.number)
        #expect(!step3)
        let step4 = queue.next()
        #expect(isWaiting(step4))
        let step5 = queue.inserted(first.number)
        #expect(step5 == second.number)
    }

    @Test func `The next group is inserted while marks move`() throws {
        var queue = queue()
        for _ in 0..<2 { queue.arrived(try job()) }
        let first = try begun(queue.next())
        let step6 = queue.claimed(first.number)
        #expect(step6)
        queue.arrived(try job())
        let step7 = queue.next()
        #expect(isWaiting(step7))
        let step8 = queue.inserted(first.number)
        #expect(step8 == nil)
        let second = try begun(queue.next())
        let step9 = queue.claimed(second.number)
        #expect(step9)
        queue.ended(first)
        let step10 = queue.inserted(second.number)
        #expect(step10 == nil)
        queue.ended(second)
        #expect(queue.isEmpty)
    }

    @Test func `A chain is in one group at a time`() throws {
        var queue = queue()
        let device = Self.device()
        let jobs = [try job(device), try job(), try job(device), try job(device)]
        for job in jobs { queue.arrived(job) }
        let first = try begun(queue.next())
        #expect(first.jobs.map(ObjectIdentifier.init) == jobs.prefix(2).map(ObjectIdentifier.init))
        let step11 = queue.claimed(first.number)
        #expect(step11)
        let step12 = queue.inserted(first.number)
        #expect(step12 == nil)
        // The chain's mark is moving: the claim of another group would claim it.
        let step13 = queue.next()
        #expect(isWaiting(step13))
        queue.ended(first)
        let second = try begun(queue.next())
        #expect(second.jobs.map(ObjectIdentifier.init) == [ObjectIdentifier(jobs[2])])
    }

    @Test func `What is written again goes first, after its pause`() throws {
        var queue = queue()
        let device = Self.device()
        let jobs = [try job(device), try job(device), try job()]
        queue.arrived(jobs[0])
        let first = try begun(queue.next())
        let step25 = queue.claimed(first.number)
        #expect(step25)
        for job in jobs.dropFirst() { queue.arrived(job) }
        let step26 = queue.inserted(first.number)
        #expect(step26 == nil)
        queue.ended(first, again: first.jobs)
        let other = try begun(queue.next())
        #expect(other.jobs.map(ObjectIdentifier.init) == [ObjectIdentifier(jobs[2])])
        let step27 = queue.inserted(other.number)
        #expect(step27 == nil)
        queue.ended(other)
        let step28 = queue.next()
        #expect(isWaiting(step28) && !queue.isEmpty)
        queue.resumed(jobs[0].chains)
        let again = try begun(queue.next())
        #expect(again.jobs.map(ObjectIdentifier.init) == [ObjectIdentifier(jobs[0])])
    }

    @Test func `Devices that were answered are waited for briefly`() throws {
        var queue = queue(parts: 8)
        for _ in 0..<6 { queue.arrived(try job()) }
        let first = try begun(queue.next())
        let step14 = queue.claimed(first.number)
        #expect(step14)
        queue.arrived(try job())
        let step15 = queue.inserted(first.number)
        #expect(step15 == nil)
        let step16 = queue.next()
        #expect(isWaiting(step16))
        queue.ended(first)
        let step17 = queue.next()
        #expect(isGathering(step17))
        for _ in 0..<2 { queue.arrived(try job()) }
        let step18 = try begun(queue.next())
        #expect(step18.jobs.count == 3)
    }

    @Test func `A lonely request waits for nobody twice`() throws {
        var queue = queue(parts: 8)
        for _ in 0..<6 { queue.arrived(try job()) }
        for (count, isGathered) in [(6, false), (1, true), (1, false)] {
            let group = try begun(queue.next(isGathered: isGathered))
            #expect(group.jobs.count == count)
            let step19 = queue.claimed(group.number)
            #expect(step19)
            let step20 = queue.inserted(group.number)
            #expect(step20 == nil)
            queue.ended(group)
            queue.arrived(try job())
        }
    }

    @Test func `A group without slices uses no turn`() throws {
        var queue = queue(parts: 1)
        for _ in 0..<2 { queue.arrived(try job()) }
        let first = try begun(queue.next())
        let step21 = queue.claimed(first.number)
        #expect(step21)
        let second = try begun(queue.next())
        let step22 = queue.inserted(second.number)
        #expect(step22 == nil)
        queue.arrived(try job())
        let third = try begun(queue.next())
        let step23 = queue.claimed(third.number)
        #expect(!step23)
        let step24 = queue.inserted(first.number)
        #expect(step24 == third.number)
    }
}
