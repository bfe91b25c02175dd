import Glibc
import HelperProcesses

/// Clients of PyPI that other programs use, if `Tools/metric-clients` has installed them.
enum PythonClients {
    private static let python = ".build/metric-clients/bin/python"

    static var areInstalled: Bool { access(python, X_OK) == 0 }

    static func start(_ script: String, _ arguments: [String] = []) throws -> HelperProcess {
        let directory = getcwd(nil, 0)
        defer { free(directory) }
        let path = directory.map { String(cString: $0) } ?? ""
        return try HelperProcess("\(path)/\(python)", ["-c", script] + arguments)
    }

    /// Runs a script to its end.
    /// - Returns: what it said on standard error, or how it failed; `nil` if all was well.
    static func run(_ script: String, _ arguments: [String] = []) throws -> String? {
        let process = try start(script, arguments)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer { memory.deallocate() }
        while process.read(into: memory, milliseconds: 1_000) != .ended {}
        while !process.isReaped() { sched_yield() }
        return process.objection
    }
}
