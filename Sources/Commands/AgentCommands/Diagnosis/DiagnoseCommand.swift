import ArgumentParser
import CommandKit
import DataSampler
import FoundationEssentials
import Gzip
import LogStore
import TelemetryBasics
import WireModel

struct DiagnoseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose",
        abstract: "Writes one archive for support: status, settings, queue, balance and the newest lines of the log.",
        discussion: """
            Works also when the agent does not run. What cannot be read is named in the archive, and the rest is \
            there. Credentials, tokens, the custom payload, and what the scrub rules of profile and configuration name \
            are replaced by [scrubbed]. No record's content is in it. Needs the right to read the data directory, so \
            run it as root or as the agent's user. Look into the archive before you hand it on.
            """)

    @Option(help: ArgumentHelp("The archive, .tar.gz; it must not exist.", valueName: "file"))
    var output = "ws1agent-diagnosis.tar.gz"

    @Option(help: ArgumentHelp("The most lines of the log.", valueName: "count"))
    var lines = 5000

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (0...100_000).contains(lines) else { throw ValidationError("--lines is \(lines); expected 0 to 100000") }
    }

    func run() async throws {
        guard !Paths.exists(output) else {
            throw CommandError(.failed, "\(output) exists. Name another file with --output, or move it away.")
        }
        let layers = try SettingLayers<AgentSettings>(flags: options.directory.given)
        let settings = try AgentSettings(layers, needsCollector: false)
        let access = try DeviceAccess(options.directory)
        guard Paths.exists(access.configuration.directory) else {
            throw CommandError(.failed, "\(access.configuration.directory) does not exist: check --data")
        }
        var configuration = access.configuration
        // For its token. A file that is damaged or gone has none that could be shown.
        if let file = settings.enrollment { _ = try? configuration.apply(enrollment: file) }
        let scrubber: DiagnosisScrubber
        do throws(DataSamplerError) { scrubber = try DiagnosisScrubber(configuration) } catch {
            throw CommandError(
                .failed,
                """
                \(error.message). Without it the archive could show secrets, so none is written: run this as root or \
                as the agent's user
                """,
                cause: error)
        }
        var report = DiagnosisReport(scrubber: scrubber, wallTime: SystemClock.wallMicroseconds())
        await Self.gather(into: &report, from: access)
        report.add("configuration.json", Self.described(settings))
        report.add(logs: "log.txt", in: "\(configuration.directory)/\(DataSampler.logDirectoryName)", newest: lines)
        let bytes = try report.archive()
        do throws(FileError) { try Files<FileError>.replace(output, with: bytes.span.bytes) } catch {
            throw CommandError(.failed, "\(error). Name another file with --output", cause: error)
        }
        try Output.outcome(
            "\(output): \(report.names.joined(separator: ", "))",
            DiagnosisOutcome(archive: output, parts: report.names, problems: report.problems), asJSON: options.json)
        for problem in report.problems { StandardError.line("ws1agent: \(problem)") }
    }

    /// Adds what the running agent says; without one, what is on disk.
    private static func gather(into report: inout DiagnosisReport, from access: DeviceAccess) async {
        var request = WireControlRequest()
        request.status = WireControlStatus()
        let status = await report.add("status.json") { () async throws(CommandError) in
            try await access.perform(request) { sampler throws(DataSamplerError) in
                try .json(try await sampler.status())
            }
        }
        if let status, let known = try? StatusCommand.decode(DataSamplerStatus.self, status.json) {
            await report.add("profile.json") { () async throws(CommandError) in
                var answer = WireControlAnswer.done
                answer.json = try JSONText.of(ProfileText.Shown(profile: known.profile, settings: known.settings))
                return answer
            }
        }
        request.balance = WireControlBalance()
        await report.add("balance.json") { () async throws(CommandError) in
            try await access.perform(request) { sampler throws(DataSamplerError) in
                try .json(try await sampler.balance())
            }
        }
        request.queue.verb = .inspect
        await report.add("queue.json") { () async throws(CommandError) in
            try await access.perform(request) { sampler throws(DataSamplerError) in
                try .json(try await sampler.queueTools.inspect())
            }
        }
    }

    /// The settings as this command reads them from file, environment and flags; of a secret only whether it is given.
    static func described(_ settings: AgentSettings) -> JSONValue {
        let defaults = AgentSettings()
        var shown: [String: JSONValue] = [:]
        for setting in AgentSettings.declarations {
            let value = settings.shown(setting.name)
            shown[setting.name] =
                if setting.isSecret {
                    .string(value == defaults.shown(setting.name) ? "default" : "given, not shown")
                } else { value.map { .string($0) } ?? .null }
        }
        return .object(shown)
    }
}

private struct DiagnosisOutcome: Encodable {
    /// The file.
    var archive: String
    /// The names of what is in it.
    var parts: [String]
    /// What is missing, and why.
    var problems: [String]
}

/// The parts of a diagnosis, each scrubbed as it is added. A part that cannot be had is named instead.
struct DiagnosisReport {
    private let scrubber: DiagnosisScrubber
    /// Microseconds since 1970.
    private let wallTime: Int64
    private var parts: [(name: String, content: [UInt8])] = []
    private(set) var problems: [String] = []

    var names: [String] { parts.map(\.name) }

    init(scrubber: DiagnosisScrubber, wallTime: Int64) {
        self.scrubber = scrubber
        self.wallTime = wallTime
    }

    /// An answer in JSON.
    @discardableResult
    mutating func add(_ name: String, _ answer: () async throws(CommandError) -> WireControlAnswer) async
        -> WireControlAnswer?
    {
        do throws(CommandError) {
            let answer = try await answer()
            add(name, try StatusCommand.withTimes(answer.json))
            return answer
        } catch {
            miss(name, error.message)
            return nil
        }
    }

    mutating func add(_ name: String, _ value: JSONValue) {
        do throws(CommandError) { parts.append((name, Array(try JSONText.of(scrubber.scrubbed(value))))) } catch {
            miss(name, error.message)
        }
    }

    /// - Parameter count: lines at most.
    mutating func add(logs name: String, in directory: String, newest count: Int) {
        do throws(LogStoreError) {
            let snapshot = try StoreSnapshot(
                StoreDirectory(path: directory), kinds: Set(SegmentName.Kind.allCases))
            let latest = try LatestLines(count, of: snapshot, filter: LogFilter())
            let text = latest.lines.map { scrubber.scrubbed(String(decoding: $0, as: UTF8.self)) }.joined()
            parts.append((name, Array(text.utf8)))
            for problem in snapshot.problems + latest.problems { miss("a part of \(name)", problem.error.message) }
        } catch { miss(name, error.message) }
    }

    private mutating func miss(_ name: String, _ why: String) {
        problems.append(scrubber.scrubbed("\(name) is missing: \(why)"))
    }

    /// All parts, with a text about them, as .tar.gz.
    func archive() throws(CommandError) -> [UInt8] {
        let about =
            ["ws1agent \(DataSampler.version), diagnosis of \(Timestamp.text(wallTime))"]
            + ["Secrets and what the scrub rules name are replaced by [scrubbed]. Records are not in it."]
            + names.map { "\($0): present" } + problems
        var archive = TarArchive()
        for (name, content) in [("README.txt", Array((about.joined(separator: "\n") + "\n").utf8))] + parts {
            archive.add("ws1agent-diagnosis/\(name)", content, seconds: wallTime / 1_000_000)
        }
        do throws(GzipError) { return try GzipCodec.compress(archive.finished) } catch {
            throw CommandError(.failed, "the archive cannot be compressed: \(error)", cause: error)
        }
    }
}
