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
        /// The network as the kernel knows and reports it over netlink; `nil`: there is no netlink.
        package var network: CapturedNetwork?
        /// Answers that stand in place of what ``network`` gives: messages one behind the other, with their headers.
        package var netlink: [NetlinkRequest: [UInt8]] = [:]
        /// Exchanges that fail, and how.
        package var netlinkFailures: [NetlinkRequest: FileOutcome] = [:]
        package var fileSystems: [String: FileSystemFigures] = [:]
        package var systemName: SystemName?
        package var process = ProcessFigures(
            cpuTimeMicroseconds: nil, openFiles: nil, pageSize: 4_096, ticksPerSecond: 100)
        package var time = SampleTime(wallMicroseconds: 0, sinceBootMicroseconds: 0)

        package init() {}
    }

    private struct State {
        var machine: Machine
        var reads: [String: Int] = [:]
        var figuresAsked: [String] = []
        var exchanges: [NetlinkRequest: Int] = [:]
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

    /// The network it has now.
    package var network: CapturedNetwork? {
        state.withLock { $0.machine.network }
    }

    /// How often a file was read.
    package func reads(of path: String) -> Int {
        state.withLock { $0.reads[path] ?? 0 }
    }

    /// How often the kernel was asked this.
    package func exchanges(of request: NetlinkRequest) -> Int {
        state.withLock { $0.exchanges[request] ?? 0 }
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

    package func exchange(_ request: NetlinkRequest, into buffer: inout FileBuffer, maximumBytes: Int) -> FileOutcome {
        buffer.truncate()
        let (answer, failure) = state.withLock { state in
            state.exchanges[request, default: 0] += 1
            return (
                state.machine.netlink[request] ?? state.machine.network?.answer(to: request),
                state.machine.netlinkFailures[request]
            )
        }
        if let failure { return failure }
        guard let answer else { return .absent }
        let count = min(answer.count, maximumBytes)
        _ = buffer.append(room: count) { memory in
            memory.copyBytes(from: answer[..<count])
            return count
        }
        return count < answer.count ? .truncated : .complete
    }

    package func list(_ path: String, maximumEntries: Int) -> [String]? {
        let paths = state.withLock { Array($0.machine.files.keys) + Array($0.machine.links.keys) }
        let prefix = path + "/"
        let names = Set(
            paths.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count).prefix { $0 != "/" }) })
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
