import DeviceTestKit
import Foundation
import SampleModules
import Synchronization
import TestKit
import Testing

@testable import DataSampler

/// What the library's detectors say of machines in memory.
@Suite struct DetectorTests {
    private let host = CapturedHostSource()

    private func verdict(_ finding: CompromiseFinding?) -> CompromiseFinding.Verdict? { finding?.verdict }

    // MARK: System paths

    private func setPaths(_ change: (inout [String: FileStatus]) -> Void = { _ in }) {
        host.change { machine in
            machine.statuses = Dictionary(
                uniqueKeysWithValues: SystemPathDetector.paths.map { ($0, FileStatus(mode: 0o040755)) })
            change(&machine.statuses)
        }
    }

    @Test(
        arguments: [
            (FileStatus(mode: 0o040755), .no, ""), (FileStatus(mode: 0o100640, group: 42), .no, ""),
            (FileStatus(mode: 0o040777), .yes, "/etc may be written by everybody (mode 777)"),
            (FileStatus(mode: 0o100666), .yes, "/etc may be written by everybody (mode 666)"),
            (FileStatus(mode: 0o041777), .no, ""),
            (FileStatus(mode: 0o040755, owner: 1000), .yes, "/etc belongs to user 1000, not to root"),
            (FileStatus(mode: 0o042775, group: 50), .yes, "/etc may be written by group 50 (mode 2775)"),
            (FileStatus(mode: 0o040775), .no, ""), (FileStatus(mode: 0o040755, owner: 65_534), .unknown, "/etc"),
            (FileStatus(mode: 0o040775, group: 65_534), .unknown, "/etc"),
            (FileStatus(mode: 0o040777, owner: 65_534), .yes, "everybody"),
        ] as [(FileStatus, CompromiseFinding.Verdict, String)])
    func `Owner and mode of a system path decide`(
        status: FileStatus, expected: CompromiseFinding.Verdict, evidence: String
    ) throws {
        setPaths { $0["/etc"] = status }
        let finding = try #require(SystemPathDetector(host: host).examine())
        #expect(finding.verdict == expected)
        if !evidence.isEmpty { #expect(finding.evidence.contains(evidence)) }
    }

    @Test func `Paths that are not there are passed over, and none at all is unknown`() {
        setPaths { $0["/lib64"] = nil }
        #expect(verdict(SystemPathDetector(host: host).examine()) == .no)
        #expect(verdict(SystemPathDetector(host: CapturedHostSource()).examine()) == .unknown)
    }

    @Test func `Evidence stays within its bound however much there is to say`() throws {
        setPaths { statuses in for path in SystemPathDetector.paths { statuses[path]?.mode = 0o040777 } }
        let finding = try #require(SystemPathDetector(host: host).examine())
        #expect(finding.verdict == .yes && finding.evidence.utf8.count <= CompromiseFinding.maximumEvidenceBytes)
    }

    // MARK: Kernel modules

    private static let signed =
        "ext4 1048576 2 - Live 0x0000000000000000\nnvidia 39 1 drm, Live 0x0000000000000000 (PO)\n"
    private static let unsigned = "hidden 16384 0 - Live 0x0000000000000000 (OE)\n"

    @Test(
        arguments: [
            (signed, "0\n", "Y\n", .no), (signed, "4097\n", "N\n", .no), ("", "0\n", "N\n", .no), ("", "0\n", nil, .no),
            (signed, "0\n", nil, .unknown), (signed, "0\n", "?\n", .unknown),
            (signed + unsigned, "12288\n", "N\n", .yes),
            ("forced 1 0 - Live 0x0 (F)\n", "2\n", "N\n", .yes), (signed, "8192\n", "Y\n", .yes),
            (signed, "2\n", "N\n", .yes),
            (signed, nil, "Y\n", .unknown), (signed, "x\n", "Y\n", .unknown), (signed, "81", "Y\n", .unknown),
            ("ext4 1048576 2\n", "0\n", "Y\n", .unknown), (signed + "half 16", "0\n", "Y\n", .unknown),
            (signed + unsigned + "half 16", "0\n", "Y\n", .yes), (nil, "0\n", "Y\n", nil),
        ] as [(String?, String?, String?, CompromiseFinding.Verdict?)])
    func `Marks of unsigned and forced modules decide`(
        modules: String?, tainted: String?, enforce: String?, expected: CompromiseFinding.Verdict?
    ) {
        if let modules { host.set(KernelModuleDetector.modulesPath, modules) }
        if let tainted { host.set(KernelModuleDetector.taintedPath, tainted) }
        if let enforce { host.set(KernelModuleDetector.enforcePath, enforce) }
        #expect(verdict(KernelModuleDetector(host: host).examine()) == expected)
    }

    @Test func `Denied is unknown, and a module since removed still shows in the taint`() throws {
        host.set(KernelModuleDetector.taintedPath, "0\n")
        host.change { $0.failures[KernelModuleDetector.modulesPath] = .denied }
        #expect(verdict(KernelModuleDetector(host: host).examine()) == .unknown)
        host.set(KernelModuleDetector.taintedPath, "12288\n")
        let finding = try #require(KernelModuleDetector(host: host).examine())
        #expect(finding.verdict == .yes && finding.evidence.contains("12288"))
    }

    @Test func `The profile's modules decide which may be loaded, and which may be unsigned`() {
        host.set(KernelModuleDetector.modulesPath, Self.signed + Self.unsigned)
        host.set(KernelModuleDetector.taintedPath, "12288\n")
        host.set(KernelModuleDetector.enforcePath, "N\n")
        func verdict(allowed: Set<String> = [], unsigned: Set<String> = []) -> CompromiseFinding.Verdict? {
            KernelModuleDetector(host: host, allowed: allowed, unsigned: unsigned).examine()?.verdict
        }
        #expect(verdict() == .yes && verdict(unsigned: ["other"]) == .yes)
        #expect(verdict(unsigned: ["hidden"]) == .no)
        #expect(verdict(allowed: ["ext4", "nvidia"], unsigned: ["hidden"]) == .no)
        #expect(verdict(allowed: ["ext4"], unsigned: ["hidden"]) == .yes, "nvidia is not expected")
        // A forced module that is not listed is not explained by an unsigned one that is.
        host.set(KernelModuleDetector.taintedPath, "12290\n")
        #expect(verdict(unsigned: ["hidden"]) == .yes)
    }

    @Test func `The profile's paths take the place of the library's`() {
        setPaths { $0["/opt/kiosk"] = FileStatus(mode: 0o040777) }
        #expect(verdict(SystemPathDetector(host: host).examine()) == .no)
        #expect(verdict(SystemPathDetector(host: host, paths: ["/opt/kiosk"]).examine()) == .yes)
    }

    @Test func `Many unsigned modules are named within bounds`() throws {
        host.set(KernelModuleDetector.modulesPath, (0..<500).map { "module\($0) 1 0 - Live 0x0 (OE)\n" }.joined())
        let finding = try #require(KernelModuleDetector(host: host).examine())
        #expect(
            finding.verdict == .yes && finding.evidence.contains("module0") && finding.evidence.contains("492 more"))
    }

    // MARK: Secure boot

    private func setFlag(_ path: String, _ bytes: [UInt8]) { host.change { $0.files[path] = bytes } }

    @Test(
        arguments: [
            ([6, 0, 0, 0, 1], nil, .no), ([6, 0, 0, 0, 1], [6, 0, 0, 0, 0], .no), ([6, 0, 0, 0, 0], nil, .yes),
            ([6, 0, 0, 0, 1], [6, 0, 0, 0, 1], .yes), ([6, 0, 0, 0, 2], nil, .unknown), ([6, 0, 0, 0], nil, .unknown),
            ([], nil, .unknown),
            ([6, 0, 0, 0, 1, 0], nil, .unknown), (nil, nil, .unknown),
        ] as [([UInt8]?, [UInt8]?, CompromiseFinding.Verdict)])
    func `The firmware's variables decide`(
        secureBoot: [UInt8]?, setupMode: [UInt8]?, expected: CompromiseFinding.Verdict
    ) {
        host.set("\(SecureBootDetector.firmwarePath)/fw_platform_size", "64\n")
        if let secureBoot { setFlag(SecureBootDetector.secureBootPath, secureBoot) }
        if let setupMode { setFlag(SecureBootDetector.setupModePath, setupMode) }
        #expect(verdict(SecureBootDetector(host: host).examine()) == expected)
    }

    @Test func `Without EFI there is nothing to look at`() {
        #expect(SecureBootDetector(host: host).examine() == nil)
    }

    // MARK: Tracer

    @Test(
        arguments: [
            ("Name:\tx\nTracerPid:\t0\nUid:\t0\n", .no), ("TracerPid:\t4711\n", .yes),
            ("TracerPid:\t18446744073709551616\n", .unknown),
            ("TracerPid:\t\n", .unknown), ("TracerPid:\t0", .unknown), ("Name:\tx\n", .unknown), ("", .unknown),
            (nil, .unknown),
        ] as [(String?, CompromiseFinding.Verdict)])
    func `TracerPid decides`(text: String?, expected: CompromiseFinding.Verdict) {
        if let text { host.set(TracerDetector.statusPath, text) }
        #expect(verdict(TracerDetector(host: host).examine()) == expected)
    }

    @Test func `The tracer is named`() {
        host.set(TracerDetector.statusPath, "TracerPid:\t42\n")
        host.set("/proc/42/comm", "gdb\n")
        #expect(TracerDetector(host: host).examine()?.evidence == "process 42 (gdb) traces this one")
    }

    // MARK: Garbage

    @Test func `Any bytes in any of these files give a finding within bounds or none, never a trap`() {
        var random = SystemRandomNumberGenerator()
        let paths = [
            KernelModuleDetector.modulesPath, KernelModuleDetector.taintedPath, KernelModuleDetector.enforcePath,
            SecureBootDetector.secureBootPath, SecureBootDetector.setupModePath, TracerDetector.statusPath,
        ]
        let seeds = [Array(Self.unsigned.utf8), Array("TracerPid:\t0\n".utf8), [6, 0, 0, 0, 1]]
        let detectors: [any CompromiseDetector] = [
            KernelModuleDetector(host: host), SecureBootDetector(host: host), TracerDetector(host: host),
            SystemPathDetector(host: host),
        ]
        for _ in 0..<500 {
            for path in paths {
                var bytes = seeds.randomElement(using: &random)! + seeds.randomElement(using: &random)!
                for _ in 0..<Int.random(in: 0...6, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                setFlag(path, Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
            }
            for detector in detectors {
                #expect((detector.examine()?.evidence.utf8.count ?? 0) <= CompromiseFinding.maximumEvidenceBytes)
            }
        }
    }
}

@Suite struct AgentBinaryDetectorTests {
    private let host = CapturedHostSource()

    /// What the program's file holds, and how often it was read.
    private final class Binary: Sendable {
        let state = Mutex((digest: "aa" as String?, reads: 0))

        var digest: @Sendable (String) -> String? {
            { path in
                #expect(path == AgentBinaryDetector.executablePath)
                return self.state.withLock {
                    $0.reads += 1
                    return $0.digest
                }
            }
        }
    }

    private func status(inode: UInt64) {
        host.change { $0.statuses[AgentBinaryDetector.executablePath] = FileStatus(inode: inode, mode: 0o100755) }
    }

    private func detector(
        _ directory: borrowing TemporaryDirectory, _ binary: Binary, release: String = "1", expected: String? = nil
    ) -> AgentBinaryDetector {
        AgentBinaryDetector(
            host: host, directory: directory.path, release: release, expected: expected, digest: binary.digest)
    }

    @Test func `A file that changed within a release is found, an update is not`() throws {
        let directory = try TemporaryDirectory()
        let binary = Binary()
        status(inode: 1)
        #expect(detector(directory, binary).examine()?.verdict == .no)
        #expect(detector(directory, binary).examine()?.verdict == .no)
        binary.state.withLock { $0.digest = "bb" }
        let finding = try #require(detector(directory, binary).examine())
        #expect(finding.verdict == .yes && finding.evidence.contains("aa") && finding.evidence.contains("bb"))
        // Asked again it says the same: what was found does not become the record.
        #expect(detector(directory, binary).examine()?.verdict == .yes)
        #expect(detector(directory, binary, release: "2").examine()?.verdict == .no)
        #expect(detector(directory, binary, release: "2").examine()?.verdict == .no)
    }

    @Test func `The file is read once per start and again only when it is another one`() throws {
        let directory = try TemporaryDirectory()
        let binary = Binary()
        status(inode: 1)
        let detector = detector(directory, binary)
        for _ in 1...5 { _ = detector.examine() }
        #expect(binary.state.withLock { $0.reads } == 1)
        status(inode: 2)
        for _ in 1...5 { _ = detector.examine() }
        #expect(binary.state.withLock { $0.reads } == 2)
    }

    @Test func `An expected digest decides whatever was recorded`() throws {
        let directory = try TemporaryDirectory()
        let binary = Binary()
        status(inode: 1)
        #expect(detector(directory, binary, expected: "bb").examine()?.verdict == .yes)
        #expect(detector(directory, binary, expected: "AA").examine()?.verdict == .no)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/binary"))
    }

    @Test func `What cannot be read, the file or its record, is unknown and not recorded anew`() throws {
        let directory = try TemporaryDirectory()
        let binary = Binary()
        #expect(detector(directory, binary).examine()?.verdict == .unknown)
        status(inode: 1)
        binary.state.withLock { $0.digest = nil }
        #expect(detector(directory, binary).examine()?.verdict == .unknown)
        binary.state.withLock { $0.digest = "aa" }
        try Data("{}".utf8).write(to: URL(filePath: "\(directory.path)/binary"))
        #expect(detector(directory, binary).examine()?.verdict == .unknown)
        #expect(try Data(contentsOf: URL(filePath: "\(directory.path)/binary")) == Data("{}".utf8))
    }

    @Test func `A file's digest is the SHA-256 of all of it`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/file"
        try Data("abc".utf8).write(to: URL(filePath: path))
        #expect(FileDigest.sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        try Data(repeating: 0x61, count: 1_000_000).write(to: URL(filePath: path))
        #expect(FileDigest.sha256(path) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        #expect(FileDigest.sha256("\(path).missing") == nil)
    }

    @Test func `On this machine every detector comes to an end with evidence or has nothing to look at`() throws {
        let directory = try TemporaryDirectory()
        let configuration = DataSamplerConfiguration(directory: directory.path, collectorURL: "https://collector.test")
        let detectors = configuration.allDetectors(DetectionRules(), host: LinuxHostSource())
        #expect(detectors.map(\.name) == BuiltInDetector.allCases.map(\.rawValue))
        for detector in detectors {
            if let finding = detector.examine() { #expect(!finding.evidence.isEmpty, "\(detector.name)") }
        }
        let own = LinuxHostSource().fileStatus(directory.path)
        #expect(own?.owner == getuid() && (own?.mode ?? 0) & 0o170000 == 0o040000)
    }
}
