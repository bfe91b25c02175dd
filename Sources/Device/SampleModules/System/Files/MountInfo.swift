/// `/proc/self/mountinfo`: what is mounted where.
struct MountInfo: Equatable {
    static let path = "/proc/self/mountinfo"
    /// Enough for a busy container host.
    static let maximumMounts = 16_384

    struct Mount: Equatable {
        var id: UInt64
        var parent: UInt64
        /// "major:minor" of the superblock: the same for bind mounts of one file system.
        var device: String
        /// The part of the file system that is mounted; "/" unless it is a bind mount or subvolume.
        var root: String
        var mountPoint: String
        var readOnly: Bool
        var type: String
        var source: String
    }

    var mounts: [Mount] = []
    /// Lines that were not understood.
    var oddLines = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            guard let mount = Self.mount(line) else {
                oddLines += 1
                continue
            }
            guard mounts.count < Self.maximumMounts else { return }
            mounts.append(mount)
        }
    }

    private static func mount(_ line: UnsafeRawBufferPointer) -> Mount? {
        var scanner = ByteScanner(line)
        guard let id = scanner.number(), let parent = scanner.number(), let device = scanner.word(), let root = scanner.word(),
            let mountPoint = scanner.word(), let options = scanner.word()
        else { return nil }
        // Optional fields (shared:1, master:2 ...) end with a lone hyphen.
        while true {
            guard let field = scanner.word() else { return nil }
            if field.equals("-") { break }
        }
        guard let type = scanner.word(), let source = scanner.word() else { return nil }
        let superblockOptions = scanner.word()
        return Mount(
            id: id, parent: parent, device: device.text, root: unescaped(root), mountPoint: unescaped(mountPoint),
            readOnly: isReadOnly(options) || superblockOptions.map(isReadOnly) == true, type: type.text, source: unescaped(source))
    }

    private static func isReadOnly(_ options: UnsafeRawBufferPointer) -> Bool {
        options.count >= 2 && options[0] == 0x72 && options[1] == 0x6f && (options.count == 2 || options[2] == 0x2c)
    }

    /// Blank, tab, line end and backslash are written as `\` and three octal digits.
    private static func unescaped(_ bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.contains(0x5c) else { return bytes.text }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x5c, index + 3 < bytes.count, bytes[(index + 1)...(index + 3)].allSatisfy({ $0 >= 0x30 && $0 <= 0x37 }) {
                let code = bytes[(index + 1)...(index + 3)].reduce(0) { $0 << 3 | Int($1 - 0x30) }
                plain.append(UInt8(truncatingIfNeeded: code))
                index += 4
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}
