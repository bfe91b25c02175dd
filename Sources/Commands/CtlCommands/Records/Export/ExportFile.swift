import CommandKit
import FoundationEssentials
import Glibc
import JSON
import TelemetryBasics

/// Where exported lines go: standard output, or a file that has its name only once it is whole.
///
/// Until then the lines are in `FILE.partial`, and `FILE.partial.json` says how many of its bytes are whole pages and
/// which page comes next. A page is synced before that file tells of it. So an export that ended anywhere goes on
/// without a lost or doubled line: what stands behind the whole pages is cut off first.
struct ExportFile: ~Copyable {
    /// `nil` for standard output.
    private let path: String?
    private let descriptor: Int32

    private static let maximumPlanBytes = 4 << 20

    private static func partial(_ path: String) -> String { path + ".partial" }
    private static func planPath(_ path: String) -> String { path + ".partial.json" }

    /// Begins an export.
    /// - Parameter path: `nil` for standard output.
    /// - Throws: if the file is there, or an export to it that did not end.
    init(beginning path: String?, _ plan: ExportPlan) throws(CommandError) {
        descriptor = try path.map { path throws(CommandError) in try Self.make(path, plan) } ?? STDOUT_FILENO
        self.path = path
    }

    /// Goes on with an export that did not end.
    /// - Parameter plan: what `plan(of:)` returned.
    init(resuming path: String, _ plan: ExportPlan) throws(CommandError) {
        descriptor = try Self.openAgain(path, plan)
        self.path = path
    }

    private static func make(_ path: String, _ plan: ExportPlan) throws(CommandError) -> Int32 {
        guard !Paths.exists(path) else {
            throw CommandError(.failed, "\(path) exists: name another file, or remove it")
        }
        let partial = partial(path)
        let made = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard made >= 0 else {
            if errno == EEXIST {
                throw CommandError(
                    .failed,
                    """
                    \(partial) is there from an export that has not ended: go on with `ws1ctl export --resume --output \
                    \(path)`, or remove it
                    """)
            }
            throw failure(FileError("opening", partial), nil)
        }
        do throws(CommandError) { try save(plan, path) } catch {
            // Nothing is in it.
            close(made)
            unlink(partial)
            throw error
        }
        return made
    }

    private static func openAgain(_ path: String, _ plan: ExportPlan) throws(CommandError) -> Int32 {
        let partial = partial(path)
        let opened = open(partial, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else { throw failure(FileError("opening", partial), nil) }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_size >= plan.bytes else {
            close(opened)
            throw CommandError(
                .failed,
                "\(partial) has lost its end: \(plan.bytes) bytes of it were whole. Remove it and begin anew")
        }
        guard ftruncate(opened, off_t(plan.bytes)) == 0, lseek(opened, 0, SEEK_END) >= 0 else {
            let error = FileError("cutting", partial)
            close(opened)
            throw failure(error, nil)
        }
        return opened
    }

    deinit { if path != nil { close(descriptor) } }

    /// What an export to this file has done so far.
    static func plan(of path: String) throws(CommandError) -> ExportPlan {
        let file = planPath(path)
        guard let bytes = try? Files<FileError>.read(file, maximumBytes: maximumPlanBytes) else {
            let partial = partial(path)
            let remedy = Paths.exists(partial) ? "Remove \(partial), and leave out --resume" : "Leave out --resume"
            throw CommandError(
                .usage, "there is no export to \(path) that could go on: \(file) is missing. \(remedy)")
        }
        guard let value = try? JSONValue(parsing: Data(bytes), limits: .own), let plan = ExportPlan(value) else {
            throw CommandError(
                .failed, "\(file) was not written by this version of ws1ctl: remove it and \(partial(path))")
        }
        return plan
    }

    /// Adds a page. It is on disk when this returns.
    /// - Parameter plan: how far the export is with it. Its bytes count this page.
    /// - Throws: `.tryAgain` if there is no room.
    func append(_ lines: Data, _ plan: ExportPlan) throws(CommandError) {
        let name = path.map(Self.partial) ?? "standard output"
        if let code = lines.withUnsafeBytes({ writeAll($0, to: descriptor).systemError }) {
            guard path != nil || code != EPIPE else { throw CommandError(.readerGone, "nobody reads the output") }
            throw Self.failure(FileError("writing", name, code), path)
        }
        guard let path else { return }
        guard fsync(descriptor) == 0 else { throw Self.failure(FileError("syncing", name), path) }
        try Self.save(plan, path)
    }

    private static func save(_ plan: ExportPlan, _ path: String) throws(CommandError) {
        let text = Data("\(plan.json.compactText)\n".utf8)
        do throws(FileError) {
            try Files<FileError>.replace(planPath(path), with: text.bytes, sync: .content)
        } catch { throw failure(error, path) }
    }

    /// Gives the whole file its name.
    func finish() throws(CommandError) {
        guard let path else { return }
        // Never over a file that somebody made meanwhile.
        guard link(Self.partial(path), path) == 0 else {
            if errno == EEXIST {
                throw CommandError(
                    .failed, "\(path) was made by somebody else meanwhile: the whole export is in \(Self.partial(path))"
                )
            }
            throw Self.failure(FileError("naming", Self.partial(path)), nil)
        }
        do throws(FileError) {
            try Files<FileError>.remove(Self.partial(path))
            try Files<FileError>.remove(Self.planPath(path))
            try Files<FileError>.syncDirectory(of: path)
        } catch { throw Self.failure(error, nil) }
    }

    /// - Parameter path: of an export that can go on.
    private static func failure(_ error: FileError, _ path: String?) -> CommandError {
        let rest = path.map {
            """
            . What is whole stays in \(partial($0)): \(error.isDiskFull ? "make room" : "mend that"), then go on with \
            `ws1ctl export --resume --output \($0)`
            """
        }
        return CommandError(error.isDiskFull ? .tryAgain : .failed, "\(error)\(rest ?? "")", cause: error)
    }
}
