import Glibc
import HelperProcesses
import LogStore

/// Takes in the journal of systemd, through `journalctl`, so that nothing of libsystemd runs in the process: a journal
/// that is cut off while it is read can kill whoever reads it.
///
/// Each look is a run of `journalctl` from the cursor to the end. Not `--follow`: since systemd 250 that reads the
/// present boot only. And not `--after-cursor`: it skips the entry behind the cursor unseen, so that once the cursor's
/// entry was vacuumed, one more is lost. `--cursor` gives the cursor's own entry first, and if it does not, that is the
/// proof that it is gone. Filters are applied here and not by `journalctl`, because only so the position passes
/// entries that are not wanted.
///
/// journald says through inotify(7) that it wrote, so a journal in which nothing is written costs one run a minute.
package final class JournalIntake: IntakeSource {
    /// The entries that are taken. Each condition must hold.
    package struct Filter: Equatable, Sendable {
        /// Units with their suffix, such as `nginx.service`; empty: all.
        package var units: Set<String> = []
        /// What programs call themselves (`SYSLOG_IDENTIFIER`); empty: all.
        package var identifiers: Set<String> = []
        /// A unit whose entries are left out: that of the agent itself, whose lines are in the store already. Not its
        /// identifier, which any program may claim.
        package var excludedUnit: String?
        /// The highest number of a priority, 0 (emergency) to 7 (debug).
        package var priority = 7

        package init() {}
    }

    package struct Configuration: Sendable {
        /// `all` is all boots, `now` is behind the newest entry.
        package var start = IntakeStart.now
        package var filter = Filter()
        /// Further fields that become metadata under their own names, such as `_BOOT_ID`.
        package var fields: [String] = []
        /// A journal namespace; `nil`: the default one.
        package var namespace: String?
        /// A directory of journal files to read in place of the machine's own; `nil`: the machine's.
        package var directory: String?
        /// An absolute path.
        package var program = "/usr/bin/journalctl"
        /// A run from which nothing came for so long is killed. Default 60,000.
        package var hangMilliseconds: Int64 = 60_000
        /// Milliseconds between the end of a run and the next one, if something was written. Default 1,000.
        package var lookMilliseconds: Int64 = 1_000
        /// Milliseconds between two runs where nothing says that something was written. Default 60,000.
        package var wholeMilliseconds: Int64 = 60_000

        package init() {}
    }

    /// The position: the cursor of the last entry that was read. Empty: the journal was empty.
    static let cursorKey = "cursor"
    private static let pieceBytes = 64 << 10
    /// Milliseconds to wait for `journalctl`, while nothing was read in this batch and while something was.
    private static let firstWait: Int32 = 100
    private static let nextWait: Int32 = 5
    private static let firstPause: Int64 = 1_000
    private static let lastPause: Int64 = 60_000

    private let configuration: Configuration
    private let clock: IntakeClock
    private let line: JournalLine
    private let watch: DirectoryWatch
    private let reader: Int
    /// Whether `watch` tells what is written.
    private var isWatched = false
    /// Something may have been written since the last run began.
    private var hasNews = true
    /// Milliseconds since boot at which the journal is read whatever the watch says.
    private var nextWhole = Int64.min
    private var parser: JournalExportParser
    private var helper: HelperProcess?
    /// Killed, and not reaped yet.
    private var ending: [HelperProcess] = []
    /// `nil`: the source was never read.
    private var position: String?
    /// The run asks only where the journal ends.
    private var isFirstLook = false
    /// The cursor with which the run began, until its first entry came.
    private var expected: JournalCursor?
    private var problem: String?
    /// Milliseconds since boot.
    private var notBefore = Int64.min
    private var lastBytes: Int64 = 0
    private var pause = firstPause

    /// - Parameter watch: one for all sources of a thread.
    package init(
        _ configuration: Configuration, clock: IntakeClock = .system, watch: DirectoryWatch = DirectoryWatch()
    ) {
        self.configuration = configuration
        self.clock = clock
        self.watch = watch
        reader = watch.addReader()
        line = JournalLine(configuration.filter, fields: configuration.fields)
        parser = JournalExportParser(wanted: line.wanted)
    }

    deinit { watch.removeReader(reader) }

    package var lag: IntakeLag { IntakeLag(parts: 1, problems: problem.map { [$0] } ?? []) }

    package func begin(at positions: [String: [UInt8]]) {
        endRun()
        (notBefore, hasNews) = (.min, true)
        position = positions[Self.cursorKey].map { String(decoding: $0, as: UTF8.self) }
    }

    /// The journal keeps what was read, so there is nothing to let go of.
    package func committed() {}

    package func read(into batch: inout IntakeBatch) -> Bool {
        ending.removeAll { $0.isReaped() }
        let former = position
        defer { if let position, position != former { batch.set(Self.cursorKey, Array(position.utf8)) } }
        do throws(IntakeFailure) {
            guard try startRun() else { return false }
            return try readRun(into: &batch)
        } catch {
            problem = error.description
            endRun()
            hasNews = true
            notBefore = clock.bootMilliseconds() + pause
            pause = min(2 * pause, Self.lastPause)
            return false
        }
    }

    // MARK: - A run of journalctl

    /// - Returns: whether there is a run.
    private func startRun() throws(IntakeFailure) -> Bool {
        if helper != nil { return true }
        let now = clock.bootMilliseconds()
        guard now >= notBefore, isDue(now) else { return false }
        parser = JournalExportParser(wanted: line.wanted)
        isFirstLook = position == nil && configuration.start == .now
        expected = position.flatMap { $0.isEmpty ? nil : JournalCursor($0) }
        do throws(StartFailure) { helper = try HelperProcess(configuration.program, arguments) } catch {
            throw IntakeFailure(error.description)
        }
        lastBytes = now
        return true
    }

    /// Whether something may have been written since the last run began.
    private func isDue(_ now: Int64) -> Bool {
        if watch.news(for: reader) != DirectoryWatch.News() { hasNews = true }
        guard hasNews || !isWatched || now >= nextWhole else { return false }
        // Before the run, so that what is written during it begins another one.
        let directories = directories()
        isWatched = watch.set(directories, for: reader) && !directories.isEmpty
        (hasNews, nextWhole) = (false, now + configuration.wholeMilliseconds)
        return true
    }

    /// Those that hold journal files, and those in which they can come.
    private func directories() -> Set<String> {
        let roots = configuration.directory.map { [$0] } ?? ["/var/log/journal", "/run/log/journal"]
        let present = roots.filter(FileIntake.isDirectory)
        return Set(present + present.flatMap { FileIntake.paths("\($0)/*").filter(FileIntake.isDirectory) })
    }

    var arguments: [String] {
        var arguments = ["--output=export", "--no-pager", "--quiet"]
        if let namespace = configuration.namespace { arguments.append("--namespace=\(namespace)") }
        if let directory = configuration.directory { arguments.append("--directory=\(directory)") }
        if isFirstLook {
            arguments.append("--lines=1")
        } else if let expected {
            arguments.append("--cursor=\(expected.text)")
        } else if position == nil, case .since(let time) = configuration.start {
            arguments.append("--since=@\(max(0, time) / 1_000_000)")
        }
        return arguments
    }

    /// - Returns: whether there is more to read at once.
    private func readRun(into batch: inout IntakeBatch) throws(IntakeFailure) -> Bool {
        guard let helper else { return false }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 1)
        defer { memory.deallocate() }
        var wait = Self.firstWait
        while !batch.isFull {
            switch helper.read(into: memory, milliseconds: wait) {
            case .bytes(let count):
                wait = Self.nextWait
                lastBytes = clock.bootMilliseconds()
                parser.add(UnsafeRawBufferPointer(rebasing: memory[..<count])) { take($0, into: &batch) }
                if let fault = parser.fault {
                    throw IntakeFailure("journalctl printed what is not of the export format (\(fault))")
                }
            case .nothing:
                let quiet = clock.bootMilliseconds() - lastBytes
                guard quiet < configuration.hangMilliseconds else {
                    throw IntakeFailure("journalctl gave nothing for \(quiet / 1000) s and was killed")
                }
                return true
            case .ended: return try finishRun(helper)
            }
        }
        return true
    }

    /// It has closed its output, and ends about now.
    private func finishRun(_ helper: HelperProcess) throws(IntakeFailure) -> Bool {
        guard helper.isReaped() else {
            guard clock.bootMilliseconds() - lastBytes < configuration.hangMilliseconds else {
                throw IntakeFailure("journalctl closed its output and did not end, so it was killed")
            }
            // As short as a poll of a pipe that has ended is, the thread shall not spin.
            _ = poll(nil, 0, Self.nextWait)
            return true
        }
        if parser.finish() {
            throw IntakeFailure("journalctl ended within an entry: \(helper.objection ?? "without a word")")
        }
        let objection = helper.objection.map {
            "journalctl: \($0)"
                + ($0.contains("permission") ? ". Add the agent to the group systemd-journal" : "")
        }
        if helper.hasFailed { throw IntakeFailure(objection ?? "journalctl failed") }
        // It names what it leaves, such as a damaged file, and the rest goes on.
        problem = objection
        // Nothing is there yet: whatever comes is new, also when it comes before the next look.
        if isFirstLook, position == nil { position = "" }
        pause = Self.firstPause
        self.helper = nil
        notBefore = clock.bootMilliseconds() + configuration.lookMilliseconds
        // After the first look the source is at its beginning, and has read nothing.
        if isFirstLook { (notBefore, hasNews) = (.min, true) }
        defer { isFirstLook = false }
        return isFirstLook
    }

    private func endRun() {
        guard let helper else { return }
        helper.end()
        ending.append(helper)
        self.helper = nil
    }

    // MARK: - Entries

    private func take(_ entry: JournalExportParser.Entry, into batch: inout IntakeBatch) {
        // An entry without a cursor comes from no journal.
        guard let cursor = JournalLine.cursor(of: entry) else { return }
        defer { position = cursor.text }
        if isFirstLook { return }
        if let former = expected {
            expected = nil
            if cursor.isSameEntry(as: former) { return }
            reportGap(from: former, to: cursor, into: &batch)
        }
        if let line = line.line(of: entry) { batch.add(line, at: JournalLine.time(of: entry)) }
    }

    /// The entry that was read last is not in the journal any more, so those behind it may be gone, too.
    private func reportGap(from former: JournalCursor, to next: JournalCursor, into batch: inout IntakeBatch) {
        var metadata = ["from": former.text, "to": next.text]
        guard let missing = former.entries(before: next) else {
            batch.report("entries of the journal may be lost: its place is gone, and its numbers began anew", metadata)
            return
        }
        // The place alone is gone, and all behind it is there.
        guard missing > 0 else { return }
        metadata["entries"] = "\(missing)"
        batch.report("entries of the journal were removed before they were read", metadata)
    }
}
