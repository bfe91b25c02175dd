import LogStore
import Synchronization
import Testing
import WireModel

@testable import Intake

@Suite struct SyslogInboxTests {
    private func message(_ text: String) -> SyslogInbox.Message { .init(text: Array(text.utf8), arrival: 0) }

    private func texts(_ messages: [SyslogInbox.Message]) -> [String] {
        messages.map { String(decoding: $0.text, as: UTF8.self) }
    }

    @Test func `What was handed out stays until it is stored, and comes again if it was not`() {
        let inbox = SyslogInbox(maximumBytes: 10_000) {}
        for text in ["a", "b", "c"] { inbox.add(message(text)) }
        #expect(texts(inbox.next(bytes: 2 * (SyslogInbox.Message.overhead + 1))) == ["a", "b"])
        inbox.count(SyslogInbox.Losses(inKernel: 4))
        #expect(inbox.nextLosses().inKernel == 4 && inbox.nextLosses().inKernel == 0)
        inbox.takeBack()
        #expect(texts(inbox.next(bytes: 1)) == ["a"])
        #expect(inbox.nextLosses().inKernel == 4)
        inbox.stored()
        inbox.takeBack()
        #expect(texts(inbox.next(bytes: 9_000)) == ["b", "c"])
        #expect(inbox.nextLosses() == SyslogInbox.Losses())
        inbox.stored()
        #expect(inbox.bytes == 0)
    }

    @Test func `What finds no room is counted by its level`() {
        let inbox = SyslogInbox(maximumBytes: 2 * SyslogInbox.Message.overhead + 10) {}
        for text in ["<11>x", "<15>x", "<8>y", "<12>y", "z"] { inbox.add(message(text)) }
        #expect(texts(inbox.next(bytes: 9_000)) == ["<11>x", "<15>x"])
        let losses = inbox.nextLosses().noRoom
        #expect(losses[.error] == 1 && losses[.warning] == 1 && losses[.information] == 1 && losses.total == 3)
    }

    @Test func `Who stores is woken once, when half of the memory is used`() {
        let count = Mutex(0)
        let inbox = SyslogInbox(maximumBytes: 10 * (SyslogInbox.Message.overhead + 1)) { count.withLock { $0 += 1 } }
        for number in 0..<9 {
            inbox.add(message("\(number)"))
            #expect(count.withLock { $0 } == (number < 4 ? 0 : 1))
        }
    }
}
