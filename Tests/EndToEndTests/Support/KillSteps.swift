import Foundation
import Glibc

/// Kills a process at a step of what it does to its files: each change that a crash can come before. See kill-steps.c,
/// which is built once and preloaded. So the steps are those that the program takes, and nobody lists them.
final class KillSteps {
    private static let library = Result { try PreloadedLibrary.build("kill-steps") }
    private static let bytes = 4096

    private let file: String
    private let library: String
    private let directory: String
    private let memory: UnsafeMutableRawPointer
    private var numbers: UnsafeMutablePointer<Int64> { memory.assumingMemoryBound(to: Int64.self) }

    /// - Parameter directory: changes of files in it are steps.
    init(under directory: String, file: String) throws {
        (self.directory, self.file) = (directory + "/", file)
        library = try Self.library.get()
        let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw EndToEndError("cannot make \(file)") }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(Self.bytes)) == 0,
            let memory = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { throw EndToEndError("cannot map \(file)") }
        self.memory = memory
    }

    deinit { munmap(memory, Self.bytes) }

    /// The environment of the process that dies.
    /// - Parameter clock: its wall clock.
    func environment(clock: FakeClock? = nil) -> [String: String] {
        var environment = clock?.environment ?? [:]
        environment["LD_PRELOAD"] = [library, environment["LD_PRELOAD"]].compactMap { $0 }.joined(separator: ":")
        environment["STEPS_FILE"] = file
        environment["STEPS_UNDER"] = directory
        return environment
    }

    /// From now on the process dies before its step `number`, counted from 1.
    func arm(_ number: Int) {
        memset(memory + 24, 0, 512)
        numbers[0] = Int64(number)
    }

    /// The process lives.
    func disarm() { numbers[0] = 0 }

    /// The step before which it died; `nil`: it has not.
    var struck: String? {
        guard numbers[0] == 0, (memory + 24).load(as: UInt8.self) != 0 else { return nil }
        return String(cString: (memory + 24).assumingMemoryBound(to: CChar.self)).replacing(directory, with: "")
    }

    /// Timers of the process come so much earlier, those of later starts too.
    func advanceTimers(seconds: Int) { numbers[2] += Int64(seconds) }
}
