import Foundation
import Glibc

/// A wall clock of its own for a process, set at will while it runs; see wall-clock.c, which is built once and
/// preloaded.
final class FakeClock {
    private static let library = Result { try PreloadedLibrary.build("wall-clock") }

    private let file: String
    private let library: String
    private let offset: UnsafeMutablePointer<Int64>

    /// - Parameter directory: where the file lies that gives the time.
    init(directory: String) throws {
        file = directory + "/clock-offset"
        library = try Self.library.get()
        let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw EndToEndError("cannot make \(file)") }
        defer { close(descriptor) }
        guard ftruncate(descriptor, 4096) == 0,
            let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { throw EndToEndError("cannot map \(file)") }
        offset = memory.bindMemory(to: Int64.self, capacity: 1)
    }

    deinit { munmap(offset, 4096) }

    /// The environment of a process that shall go by this clock.
    var environment: [String: String] { ["LD_PRELOAD": library, "FAKE_CLOCK_FILE": file] }

    /// How far from the machine's clock; processes see it at once.
    func set(offsetSeconds: Int) { offset.pointee = Int64(offsetSeconds) }
}
