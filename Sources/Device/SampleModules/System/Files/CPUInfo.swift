/// The processor's name in `/proc/cpuinfo`. The first entry is enough, and all that is read: on large machines the whole
/// file is megabytes, and each core is asked for its frequency.
struct CPUInfo: Equatable {
    static let path = "/proc/cpuinfo"
    static let maximumBytes = 4 * 1024

    var model: String?

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            // x86, some ARM and LoongArch; MIPS; POWER and SPARC.
            guard scanner.take("model name") || scanner.take("Model Name") || scanner.take("cpu model") || scanner.take("cpu\t") else {
                continue
            }
            scanner.skipBlanks()
            guard scanner.take(":") else { continue }
            let name = scanner.rest().trimmed
            guard !name.isEmpty else { continue }
            model = name.text
            return
        }
    }
}
