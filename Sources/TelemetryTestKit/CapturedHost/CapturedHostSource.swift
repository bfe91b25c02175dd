import SampleModules
import Synchronization

/// A machine in memory: files, links and figures as captured on a real one, changeable between samples.
///
/// Directories are those its files and links lie in. Safe to use from several threads.
package final class CapturedHostSource: HostSource {
    package struct Machine: Sendable {
        package var files: [String: [UInt8]] = [:]
        /// Files whose reading fails, and how.
        package var failures: [String: FileOutcome] = [:]
        package var links: [String: String] = [:]
        package var statuses: [String: FileStatus] = [:]
        package var fileSystems: [String: FileSystemFigures] = [:]
        package var systemName: SystemName?
        package var process = ProcessFigures(cpuTimeMicroseconds: nil, openFiles: nil, pageSize: 4_096, ticksPerSecond: 100)
        package var time = SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: 0)

        package init() {}
    }

    private struct State {
        var machine: Machine
        var reads: [String: Int] = [:]
        var figuresAsked: [String] = []
    }

    private let state: Mutex<State>

    package init(_ machine: Machine = Machine()) {
        state = Mutex(State(machine: machine))
    }

    /// Changes the machine between two samples.
    package func change(_ body: (inout Machine) -> Void) {
        state.withLock { body(&$0.machine) }
    }

    /// Writes a file.
    package func set(_ path: String, _ content: String) {
        change { $0.files[path] = Array(content.utf8) }
    }

    /// How often a file was read.
    package func reads(of path: String) -> Int {
        state.withLock { $0.reads[path] ?? 0 }
    }

    /// The mount points whose figures were asked, in order.
    package var figuresAsked: [String] {
        state.withLock { $0.figuresAsked }
    }

    package func read(_ path: String, into buffer: inout FileBuffer, maximumBytes: Int, keepOpen: Bool) -> FileOutcome {
        let (content, failure) = state.withLock { state in
            state.reads[path, default: 0] += 1
            return (state.machine.files[path], state.machine.failures[path])
        }
        if let failure { return failure }
        guard let content else { return .absent }
        let last = buffer.fill(maximumBytes: maximumBytes) { memory, offset in
            let part = content[min(offset, content.count)..<min(offset + memory.count, content.count)]
            memory.copyBytes(from: part)
            return part.count
        }
        return last == nil ? .truncated : .complete
    }

    package func list(_ path: String, maximumEntries: Int) -> [String]? {
        let paths = state.withLock { Array($0.machine.files.keys) + Array($0.machine.links.keys) }
        let prefix = path + "/"
        let names = Set(paths.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count).prefix { $0 != "/" }) })
        return names.isEmpty ? nil : Array(names.prefix(maximumEntries))
    }

    package func readLink(_ path: String) -> String? {
        state.withLock { $0.machine.links[path] }
    }

    package func fileStatus(_ path: String) -> FileStatus? {
        state.withLock { $0.machine.statuses[path] }
    }

    package func fileSystemFigures(at mountPoint: String) -> FileSystemFigures? {
        state.withLock { state in
            state.figuresAsked.append(mountPoint)
            return state.machine.fileSystems[mountPoint]
        }
    }

    package func systemName() -> SystemName? {
        state.withLock { $0.machine.systemName }
    }

    package func processFigures() -> ProcessFigures {
        state.withLock { $0.machine.process }
    }

    package func now() -> SampleTime {
        state.withLock { $0.machine.time }
    }
}
