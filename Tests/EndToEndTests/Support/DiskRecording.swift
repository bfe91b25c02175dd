import Foundation

/// What a program changed in the files of one directory, in order. It runs with disk-writes.c preloaded.
struct DiskRecording {
    private static let library = Result { try PreloadedLibrary.build("disk-writes") }

    struct Change {
        enum Kind: UInt8 {
            case created = 0x63  // c
            case directoryMade = 0x6D  // m
            case written = 0x77  // w
            /// The file was truncated to `offset` bytes.
            case truncated = 0x74  // t
            /// At least `offset` bytes are there.
            case allocated = 0x61  // a
            case synced = 0x73  // s
            case removed = 0x75  // u
            case renamed = 0x72  // r
        }

        var kind: Kind
        var offset: Int
        /// Within the directory; empty for the directory itself.
        var name: String
        /// The new name of what was renamed.
        var newName: String
        var data: Data
        /// The size of the file of entries with this one.
        var end: Int

        /// Space is allocated by writing one byte to each block.
        var isAllocation: Bool { kind == .written && data.count == 1 }
    }

    private let directory: String
    private let file: String

    /// - Parameters:
    ///   - directory: whose files are looked at.
    ///   - file: where the entries go.
    init(of directory: String, in file: String) {
        (self.directory, self.file) = (directory, file)
    }

    /// The environment of the program to be recorded.
    var environment: [String: String] {
        get throws {
            [
                "LD_PRELOAD": try Self.library.get(), "DISK_WRITES_DIRECTORY": directory, "DISK_WRITES_LOG": file,
            ]
        }
    }

    /// How far the recording has come: what is recorded now ends here at the latest.
    var end: Int { (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0 }

    func changes() throws -> [Change] {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        var place = bytes.startIndex
        func number<Value: FixedWidthInteger>(_ type: Value.Type) -> Int {
            defer { place += MemoryLayout<Value>.size }
            return bytes[place..<place + MemoryLayout<Value>.size].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        func text(_ count: Int) -> String {
            defer { place += count }
            let path = String(decoding: bytes[place..<place + count], as: UTF8.self)
            return String(path.dropFirst(directory.count + 1))
        }
        var changes: [Change] = []
        while bytes.endIndex - place >= 21 {
            guard let kind = Change.Kind(rawValue: bytes[place]) else {
                throw EndToEndError("\(file) has an unknown change at \(place)")
            }
            place += 1
            let (offset, lengths) = (number(UInt64.self), (0..<3).map { _ in number(UInt32.self) })
            // The program was killed while it wrote this entry.
            guard bytes.endIndex - place >= lengths.reduce(0, +) else { break }
            let (name, newName) = (text(lengths[0]), text(lengths[1]))
            let data = bytes[place..<place + lengths[2]]
            place += lengths[2]
            changes.append(
                Change(kind: kind, offset: offset, name: name, newName: newName, data: Data(data), end: place))
        }
        return changes
    }
}
