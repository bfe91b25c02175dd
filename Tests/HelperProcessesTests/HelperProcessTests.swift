import Glibc
import TestKit
import Testing

@testable import HelperProcesses

@Suite(.timeLimit(.minutes(5))) struct HelperProcessTests {
    private static func output(of helper: HelperProcess) -> String {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer { memory.deallocate() }
        var text: [UInt8] = []
        while true {
            switch helper.read(into: memory, milliseconds: 10) {
            case .bytes(let count): text.append(contentsOf: memory[..<count])
            case .nothing: continue
            case .ended:
                while !helper.isReaped() { sched_yield() }
                return String(decoding: text, as: UTF8.self)
            }
        }
    }

    @Test func `What a program prints is read, and no variable of the agent is among it`() throws {
        setenv("WS1_TEST_SECRET", "hunter2", 1)
        defer { unsetenv("WS1_TEST_SECRET") }
        let helper = try HelperProcess("/usr/bin/env", [])
        let text = Self.output(of: helper)
        #expect(text.contains("PATH=/") && !text.contains("hunter2"))
        #expect(!helper.hasFailed && helper.failure == nil && helper.objection == nil)
    }

    @Test func `The first line of standard error is kept beside how the program ended`() throws {
        let helper = try HelperProcess("/bin/sh", ["-c", "echo out; echo first >&2; echo second >&2; exit 4"])
        #expect(Self.output(of: helper) == "out\n")
        #expect(helper.hasFailed && helper.failure == "exited with 4")
        #expect(helper.firstWord == "first" && helper.objection == "first")
    }

    @Test func `A program that floods standard error ends all the same`() throws {
        let helper = try HelperProcess("/bin/sh", ["-c", "head -c 3000000 /dev/zero >&2; echo done"])
        #expect(Self.output(of: helper) == "done\n")
    }

    @Test func `What a program says after it closed its output is read, and does not make it wait`() throws {
        let helper = try HelperProcess(
            "/bin/sh", ["-c", "exec >&-; echo first >&2; head -c 300000 /dev/zero >&2; exit 4"])
        #expect(Self.output(of: helper) == "")
        #expect(helper.failure == "exited with 4" && helper.firstWord == "first")
    }

    @Test func `A program that is not there is named`() {
        #expect(throws: StartFailure("/nonexistent/p does not start: No such file or directory")) {
            try HelperProcess("/nonexistent/p", [])
        }
    }
}
