import Foundation
import Glibc
import Synchronization

@testable import Intake

/// A ring of few records. Writing over its end overwrites the oldest ones, as in the kernel.
final class ScriptedKernelRing: Sendable {
    private struct State {
        var records: [(sequence: UInt64, bytes: [UInt8])] = []
        var next: UInt64
        var boot: String
    }

    private let state: Mutex<State>
    private let room: Int

    init(room: Int, next: UInt64 = 0, boot: String = "boot-1") {
        self.room = room
        state = Mutex(State(next: next, boot: boot))
    }

    var boot: String { state.withLock { $0.boot } }

    /// - Parameter microseconds: since the boot; `nil`: a second for each record.
    func write(_ text: String, priority: Int = 6, microseconds: UInt64? = nil, fields: String = "") {
        state.withLock { state in
            let head = "\(priority),\(state.next),\(microseconds ?? state.next * 1_000_000),-"
            state.records.append((state.next, Array("\(head);\(text)\n\(fields)".utf8)))
            state.next += 1
            if state.records.count > room { state.records.removeFirst(state.records.count - room) }
        }
    }

    func restart(_ boot: String) {
        state.withLock {
            $0.records = []
            $0.next = 0
            $0.boot = boot
        }
    }

    /// - Parameter onRead: called before each read.
    func open(onRead: @escaping () -> Void = {}) -> any KernelRing { Reader(self, onRead) }

    private final class Reader: KernelRing {
        private let ring: ScriptedKernelRing
        private let onRead: () -> Void
        private var next: UInt64?

        init(_ ring: ScriptedKernelRing, _ onRead: @escaping () -> Void) {
            self.ring = ring
            self.onRead = onRead
            next = ring.state.withLock { $0.records.first?.sequence ?? $0.next }
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> KernelReading {
            onRead()
            return ring.state.withLock { state in
                let wanted = next ?? 0
                if let oldest = state.records.first?.sequence, oldest > wanted {
                    next = oldest
                    return .overrun
                }
                guard let record = state.records.first(where: { $0.sequence == wanted }) else { return .end }
                next = wanted + 1
                guard record.bytes.count <= buffer.count else { return .tooLong }
                buffer.copyBytes(from: record.bytes)
                return .record(record.bytes.count)
            }
        }
    }
}
