import Glibc

/// A program that prints for the agent. Reading never waits longer than it is told, and a pipe that nobody reads makes
/// the program wait. What it started is killed when it ends. Not `Sendable`: use it from one thread at a time.
package final class HelperProcess {
    package enum Reading: Equatable, Sendable {
        case bytes(Int)
        /// Nothing came in time.
        case nothing
        /// It closed its output.
        case ended
    }

    /// Bytes of standard error that are kept. The rest is read and dropped, so that the program does not wait for it.
    private static let complaintBytes = 2_048
    /// Bytes that wait in the pipe, so that the program and the agent seldom wait for each other.
    private static let pipeBytes: Int32 = 1 << 20
    /// `F_SETPIPE_SZ` of Linux, which headers show only to some.
    private static let setPipeSize: Int32 = 1_031
    /// No variable of the agent is among them, because those may hold secrets.
    private static let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]

    private let process: ChildProcess
    private let output: Int32
    private let errors: Int32
    private var complaint: [UInt8] = []

    /// - Parameter program: an absolute path.
    /// - Throws: why it cannot be started; the text names the program.
    package init(_ program: String, _ arguments: [String]) throws(StartFailure) {
        let out = try Self.makePipe()
        let err: (read: Int32, write: Int32)
        do throws(StartFailure) { err = try Self.makePipe() } catch {
            close(out.read)
            close(out.write)
            throw error
        }
        defer {
            close(out.write)
            close(err.write)
        }
        do throws(StartFailure) {
            process = try ChildProcess(
                program, arguments, environment: Self.environment, input: .nothing, output: .descriptor(out.write),
                errors: .descriptor(err.write), killsGroup: true)
        } catch {
            close(out.read)
            close(err.read)
            throw StartFailure("\(program) does not start: \(error)")
        }
        output = out.read
        errors = err.read
        _ = fcntl(output, Self.setPipeSize, Self.pipeBytes)
    }

    deinit {
        close(output)
        close(errors)
    }

    /// - Parameter milliseconds: for how long it may wait for the first byte.
    package func read(into buffer: UnsafeMutableRawBufferPointer, milliseconds: Int32) -> Reading {
        readErrors()
        var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0 else { return .nothing }
        let count = Glibc.read(output, buffer.baseAddress, buffer.count)
        if count > 0 { return .bytes(count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return .nothing }
        readErrors()
        return .ended
    }

    /// Kills it, with what it started.
    package func end() { process.kill() }

    /// - Returns: whether it has ended and is reaped. Does not wait.
    package func isReaped() -> Bool {
        let isReaped = process.reap()
        // Also while nobody reads the output, because a full pipe makes it wait. What it said last is there now.
        readErrors()
        return isReaped
    }

    /// It ended otherwise than with 0. Only once it is reaped.
    package var hasFailed: Bool { process.ending?.hasFailed ?? false }

    /// The first line that it said on standard error; `nil` if it said nothing.
    package var firstWord: String? {
        String(decoding: complaint, as: UTF8.self).split(separator: "\n").first.map(String.init)
    }

    /// What it said on standard error, or how it ended, once it is reaped; `nil` if all was well.
    package var objection: String? { firstWord ?? process.ending?.objection }

    /// How it ended, once it is reaped; `nil` after exit code 0.
    package var failure: String? { process.ending?.objection }

    private func readErrors() {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
            // Few rounds, because a program could write for ever.
            for _ in 0..<16 {
                let count = Glibc.read(errors, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                let room = Self.complaintBytes - complaint.count
                complaint.append(contentsOf: buffer[..<count].prefix(room))
            }
        }
    }

    /// Its reading end does not wait, and no other program gets either end.
    private static func makePipe() throws(StartFailure) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw StartFailure("no pipe: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }
}
