import Foundation
import Glibc
import TestKit
import Testing

@testable import HelperProcesses

@Suite(.timeLimit(.minutes(5))) struct ChildProcessTests {
    private static func wait(for process: ChildProcess) { while !process.reap() { sched_yield() } }

    private static func start(
        _ script: String, environment: [String] = [], output: ChildProcess.Stream = .nothing, killsGroup: Bool = true
    ) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh", ["-c", script], environment: environment, input: .nothing, output: output, errors: .nothing,
            killsGroup: killsGroup)
    }

    @Test(arguments: [("exit 0", nil), ("exit 3", "exited with 3"), ("kill -TERM $$", "ended by signal 15")])
    func `How a program ended is told`(script: String, objection: String?) throws {
        let process = try Self.start(script)
        Self.wait(for: process)
        #expect(process.ending?.objection == objection)
        #expect(process.ending?.hasFailed == (objection != nil))
    }

    @Test func `A program that is not there is a failure, and leaves nothing behind`() {
        #expect(throws: StartFailure("No such file or directory")) {
            try ChildProcess(
                "/nonexistent/program", [], environment: [], input: .nothing, output: .nothing, errors: .nothing,
                killsGroup: true)
        }
    }

    @Test func `A program has the variables that are named, and no others`() throws {
        let directory = try TemporaryDirectory()
        let process = try Self.start("env >'\(directory.file("variables"))'", environment: ["GIVEN=yes"])
        Self.wait(for: process)
        let names = try String(contentsOfFile: directory.file("variables"), encoding: .utf8).split(separator: "\n")
            .compactMap {
                $0.split(separator: "=").first.map(String.init)
            }
        // The shell sets some of its own.
        #expect(Set(names).subtracting(["PWD", "OLDPWD", "SHLVL", "_"]) == ["GIVEN"])
    }

    @Test(arguments: [true, false])
    func `What a program started ends with it, unless it may live on`(killsGroup: Bool) throws {
        // Whoever the shell starts holds the pipe, so that its end tells when they have all ended.
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let process = try Self.start(
            "sleep 600 & echo $!", output: .descriptor(ends[1]), killsGroup: killsGroup)
        close(ends[1])
        var text = [UInt8](repeating: 0, count: 32)
        let count = read(ends[0], &text, text.count)
        let sleeper = try #require(Int32(String(decoding: text[..<max(0, count - 1)], as: UTF8.self)))
        Self.wait(for: process)
        #expect(process.ending?.hasFailed == false)
        if !killsGroup {
            #expect(kill(sleeper, 0) == 0, "it lives")
            kill(sleeper, SIGKILL)
        }
        #expect(read(ends[0], &text, text.count) == 0)
    }

    @Test func `A program that is let go of is killed and reaped`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        var process: ChildProcess? = try Self.start("echo $$; exec sleep 600", output: .descriptor(ends[1]))
        close(ends[1])
        var text = [UInt8](repeating: 0, count: 32)
        let count = read(ends[0], &text, text.count)
        let number = try #require(Int32(String(decoding: text[..<max(0, count - 1)], as: UTF8.self)))
        #expect(process?.reap() == false)
        process = nil
        var status: Int32 = 0
        #expect(waitpid(number, &status, WNOHANG) == -1 && errno == ECHILD, "no zombie is left")
    }

    @Test func `A program that went into another process group is killed all the same`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        // Into the group of this process, which may not be killed.
        let process = try ChildProcess(
            "/usr/bin/perl", ["-e", "setpgrp(0, getpgrp(getppid())) or die; $| = 1; print 1; sleep 600"],
            environment: [], input: .nothing, output: .descriptor(ends[1]), errors: .inherited, killsGroup: true)
        close(ends[1])
        var byte: UInt8 = 0
        try #require(read(ends[0], &byte, 1) == 1, "it has moved")
        process.kill()
        Self.wait(for: process)
        #expect(process.ending?.objection == "ended by signal 9")
    }
}
