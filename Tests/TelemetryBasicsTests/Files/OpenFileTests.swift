import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

import TelemetryBasics
import TestKit

@Suite("Open files and locks") struct OpenFileTests {
    @Test func `Reading by offset ends with the file`() throws {
        let directory = try TemporaryDirectory()
        let file = try OpenFile<FileError>(creating: "\(directory.path)/file")
        try file.write(([1, 2, 3, 4, 5] as [UInt8]).span.bytes)
        try file.sync()
        #expect(try file.byteCount() == 5)
        #expect(try file.read(3, at: 1) == [2, 3, 4])
        #expect(try file.read(100, at: 3) == [4, 5])
        #expect(try file.read(100, at: 50) == [])
    }

    @Test func `The blocks of a file are the file, and those of a range end with the range or the file`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Files<FileError>.replace(path, with: bytes.span.bytes)
        let file = try OpenFile<FileError>(path, O_RDONLY)
        func read(_ range: Range<Int>?) throws -> [UInt8] {
            var read: [UInt8] = []
            #expect(try file.forEachBlock(of: range) { read += $0 } == read.count)
            return read
        }
        #expect(try read(nil) == bytes)
        for range in [0..<700_000, 5..<600_001, 1..<524_289, 0..<0] { #expect(try read(range) == Array(bytes[range])) }
        #expect(try read(699_999..<800_000) == [bytes[699_999]])
    }

    @Test func `A new file takes no other one's place, nor a link's`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/link"
        #expect(symlink("\(directory.path)/target", path) == 0)
        let error = #expect(throws: FileError.self) { _ = try OpenFile<FileError>(creating: path) }
        #expect(error == FileError("creating", path, EEXIST))
    }

    @Test func `One holds a file's lock until it lets go`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        var other = try OpenFile<FileError>(creating: path)
        do {
            var file = try OpenFile<FileError>(path, O_RDWR)
            #expect(try file.lock())
            #expect(try !other.lock())
            // A copy that goes releases the lock no more than a reader does.
            _ = try file.duplicate()
            #expect(try !other.lock())
            _ = try file.byteCount()
        }
        #expect(try other.lock())
    }

    @Test func `The lock of a file that its holder removed is for nobody`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        var late: OpenFile<FileError>
        do {
            var file = try OpenFile<FileError>(creating: path)
            #expect(try file.lock())
            late = try OpenFile<FileError>(path, O_RDWR)
            #expect(unlink(path) == 0)
        }
        #expect(try !late.lock())
    }

    @Test func `One holds a lock file until it is released`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/lock"
        let first = try #require(try FileLock(path, failure: FileError.self))
        #expect(try FileLock(path, failure: FileError.self) == nil)
        #expect(try FileLock(path, attempts: 3, failure: FileError.self) == nil)
        first.release()
        first.release()
        let second = try FileLock(path, failure: FileError.self)
        #expect(second != nil)
        #expect(throws: FileError("opening", "\(directory.path)/none/lock", ENOENT)) {
            try FileLock("\(directory.path)/none/lock", failure: FileError.self)
        }
    }

    @Test func `A call that a signal interrupts is made again`() throws {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        // Without SA_RESTART the kernel does not do it for us.
        #expect(sigaction(SIGUSR2, &action, nil) == 0)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let calls = Atomic(0)
        let thread = Atomic(UInt(0))
        let result = Mutex<[Int]>([])
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            // The thread that started this one may block signals, and a thread inherits that.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGUSR2)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            thread.store(UInt(pthread_self()), ordering: .releasing)
            var byte: UInt8 = 0
            let count = retryingOnInterrupt {
                calls.add(1, ordering: .relaxed)
                return read(reader, &byte, 1)
            }
            result.withLock { $0 = [count, Int(byte)] }
            done.signal()
        }
        let end = ContinuousClock.now + .seconds(60)
        while calls.load(ordering: .relaxed) < 3, ContinuousClock.now < end {
            let id = thread.load(ordering: .acquiring)
            if id != 0 { pthread_kill(pthread_t(id), SIGUSR2) }
            sched_yield()
        }
        #expect(calls.load(ordering: .relaxed) >= 3)
        #expect([UInt8(42)].withUnsafeBytes { writeAll($0, to: writer) }.written == 1)
        done.wait()
        #expect(result.withLock { $0 } == [1, 42])
        close(reader)
        close(writer)
    }

    @Test func `Writing reports how much went out before it failed`() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        #expect(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        let outcome = [UInt8](repeating: 0, count: 16 << 20).withUnsafeBytes { writeAll($0, to: ends[1]) }
        var waiting: Int32 = 0
        #expect(ioctl(ends[0], UInt(FIONREAD), &waiting) == 0)
        #expect(outcome.written > 0 && outcome.written == Int(waiting) && outcome.systemError == EAGAIN)
        ends.forEach { close($0) }
    }

    @Test func `The disk's fullness is reported apart from other failures`() {
        for error in [ENOSPC, EDQUOT, EFBIG] { #expect(FileError("writing", "/a", error).isDiskFull) }
        for error in [EIO, EROFS, EMFILE, ENOENT] { #expect(!FileError("writing", "/a", error).isDiskFull) }
        #expect(
            FileError("writing", "/a", ENOSPC).description == "writing /a failed: No space left on device (errno 28)")
        #expect(FileError("opening", "/etc/shadow", EACCES).description.contains("no permission"))
    }
}
