import Testing

@testable import LogStore

@Suite struct CrashReasonTests {
    private static func session(boot: String? = "a", exit: SessionRecord.Exit? = nil) -> SessionRecord {
        var session = SessionRecord(
            application: "kiosk", version: "1", process: 42, bootID: boot, started: 1, backtraces: nil)
        session.exit = exit
        return session
    }

    private static let backtrace = """

        *** Program crashed: Illegal instruction at 0x00007f7c6c16df7f ***

        Thread 0 "kiosk" crashed:
        """
    private static let oom = "Out of memory: Killed process 42 (kiosk) total-vm:1kB"
    private static let fault = "kiosk[42]: segfault at 0 ip 0 sp 0 error 4 in kiosk"

    @Test(
        arguments: [
            (session(), backtrace, [oom], "b", .trapped("Program crashed: Illegal instruction at 0x00007f7c6c16df7f")),
            (session(), nil, [oom], "a", .outOfMemory),
            (session(exit: .init(code: "killed", status: "KILL", result: "oom-kill")), nil, [], "a", .outOfMemory),
            (session(), nil, [fault], "a", .fault(fault)), (session(), nil, [], "b", .machineWentDown),
            (session(boot: nil), nil, [], "b", .unknown),
            (session(exit: .init(code: "dumped", status: "SEGV", result: "core-dump")), nil, [], "a", .signal("SEGV")),
            (session(exit: .init(code: "exited", status: "3", result: "exit-code")), nil, [], "a", .exitStatus("3")),
            (session(exit: .init(code: "killed", status: "KILL", result: "signal")), nil, [], "b", .signal("KILL")),
            (session(), nil, [], "a", .unknown),
            (session(), "no headline", [], "a", .unknown),
        ] as [(SessionRecord, String?, [String], String, CrashReason)])
    func `The best witness is believed`(
        _ session: SessionRecord, _ backtrace: String?, _ kernel: [String], _ boot: String, _ expected: CrashReason
    ) {
        #expect(CrashReason(session, backtrace: backtrace, kernelLines: kernel, bootID: boot) == expected)
        #expect(!expected.text.isEmpty)
    }

    @Test(arguments: [
        (oom, true), (fault, true), ("traps: kiosk[42] trap invalid opcode ip:1 sp:2 error:0 in kiosk", true),
        ("Memory cgroup out of memory: Killed process 42 (kiosk)", true),
        ("Out of memory: Killed process 421 (kiosk)", false),
        ("kiosk[421]: segfault at 0", false), ("usb 1-1: new device 42", false),
    ])
    func `A kernel message is about one process`(_ message: String, _ expected: Bool) {
        #expect(KernelLog.reports(message, of: 42) == expected)
    }

    @Test func `A record of the kernel's log is its message`() {
        #expect(KernelLog.message(of: "6,339,5140900,-;NET: Registered; x\n SUBSYSTEM=net\n") == "NET: Registered; x")
        #expect(KernelLog.message(of: "broken") == nil)
    }

    @Test(
        arguments: [
            ("enable=yes,output-to=/var/bt", "/var/bt"), ("output-to=/var/bt,enable=yes,color=no", "/var/bt"),
            ("enable=no,output-to=/var/bt", nil),
            ("enable=yes", nil), ("enable=yes,output-to=stderr", nil), ("", nil), (nil, nil),
        ] as [(String?, String?)])
    func `The place where the backtracer writes is read`(_ environment: String?, _ expected: String?) {
        #expect(Backtraces.path(from: environment) == expected)
    }

    @Test func `A session is read back`() {
        var session = SessionRecord(
            application: "kiosk\nevil", version: "1.2 beta", process: 42, bootID: "b", started: 7,
            backtraces: "/var/b t")
        let exit = SessionRecord.Exit(code: "killed", status: "", result: "core dump")
        let text =
            session.text + SessionRecord.segmentLine(3) + SessionRecord.segmentLine(9) + SessionRecord.exitLine(exit)
        session.application = "kiosk evil"
        session.segments = [3, 9]
        session.exit = .init(code: "killed", status: "", result: "core_dump")
        #expect(SessionRecord(reading: text) == session)
    }

    @Test func `A session that is cut anywhere is read as far as it goes or not at all`() {
        let session = SessionRecord(
            application: "kiosk", version: "1", process: 42, bootID: "b", started: 7, backtraces: "/b")
        let text = session.text + SessionRecord.segmentLine(3) + SessionRecord.segmentLine(12)
        for count in 0..<text.utf8.count {
            guard let read = SessionRecord(reading: String(text.prefix(count))) else { continue }
            #expect(read.application == "kiosk" && read.process == 42)
            #expect([[], [3]].contains(read.segments), "\(count) bytes")
        }
    }
}
