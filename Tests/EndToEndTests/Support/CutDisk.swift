import Foundation
import Glibc

/// A directory on a disk whose power may be cut after any change.
///
/// A file is sure to have what was written before its last sync. A name is sure to be there once its directory was
/// synced. Of all later changes a cut may keep any part: nothing, everything, those of one file alone, half of the last
/// write.
struct CutDisk {
    /// The bytes of a file. Zeros at its end are only counted, so that 8 MiB that were allocated are cheap.
    struct Content: Hashable {
        private var bytes = Data()
        private var size = 0

        mutating func write(_ data: Data, at offset: Int) {
            size = max(size, offset + data.count)
            let written = data.prefix((data.lastIndex { $0 != 0 } ?? -1) + 1)
            // Nothing but zeros may follow what is kept.
            let overwritten = min(bytes.count, offset + data.count)
            if offset < overwritten { bytes.resetBytes(in: offset..<overwritten) }
            guard !written.isEmpty else { return }
            if bytes.count < offset + written.count { bytes.count = offset + written.count }
            bytes.replaceSubrange(offset..<offset + written.count, with: written)
        }

        mutating func truncate(to size: Int) {
            self.size = size
            bytes = bytes.prefix(size)
        }

        mutating func allocate(_ size: Int) { self.size = max(self.size, size) }

        func save(to path: String) throws {
            try bytes.write(to: URL(fileURLWithPath: path))
            guard Glibc.truncate(path, off_t(size)) == 0 else { throw EndToEndError("cannot make \(path)") }
        }
    }

    /// What a cut may leave.
    struct Image {
        var description: String
        /// The files by name; `nil` for a directory.
        var files: [String: Content?]

        func save(to directory: String) throws {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            for (name, content) in files.sorted(by: { $0.key < $1.key }) {
                let path = "\(directory)/\(name)"
                if let content {
                    try content.save(to: path)
                } else {
                    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                }
            }
        }
    }

    private struct File {
        var synced = Content()
        var unsynced: [DiskRecording.Change] = []

        enum Kept { case synced, all, halfOfTheLast }

        func content(_ kept: Kept) -> Content {
            var content = synced
            guard kept != .synced else { return content }
            for change in unsynced.dropLast() { content.apply(change) }
            if var last = unsynced.last {
                if kept == .halfOfTheLast, last.kind == .written { last.data = last.data.prefix(last.data.count / 2) }
                content.apply(last)
            }
            return content
        }
    }

    /// The files by name; `nil` for a directory.
    private var files: [Int: File] = [:]
    private var names: [String: Int?] = [:]
    private var syncedNames: [String: Int?] = [:]
    private var made = 0

    mutating func apply(_ change: DiskRecording.Change) {
        let id = names[change.name] ?? nil
        switch change.kind {
        case .created:
            made += 1
            files[made] = File()
            names[change.name] = made
        case .directoryMade: names[change.name] = .some(nil)
        case .written, .truncated, .allocated: if let id { files[id]?.unsynced.append(change) }
        case .removed: names[change.name] = nil
        case .renamed:
            if let moved = names.removeValue(forKey: change.name) { names[change.newName] = moved }
        case .synced:
            if let id, let file = files[id] {
                files[id] = File(synced: file.content(.all))
            } else {
                let folder = change.name.isEmpty ? "" : change.name + "/"
                func isThere(_ name: String) -> Bool {
                    name.hasPrefix(folder) && !name.dropFirst(folder.count).contains("/")
                }
                syncedNames = syncedNames.filter { !isThere($0.key) }
                syncedNames.merge(names.filter { isThere($0.key) }) { $1 }
            }
        }
    }

    /// What a cut at this moment may leave of the files that count.
    func images(where counts: (String) -> Bool) -> [Image] {
        func image(_ what: String, _ names: [String: Int?], _ kept: (Int) -> File.Kept) -> Image {
            let files = names.filter { counts($0.key) }.mapValues { id in
                id.flatMap { id in self.files[id].map { $0.content(kept(id)) } }
            }
            return Image(description: what, files: files)
        }
        var images = [
            image("only what was synced", syncedNames) { _ in .synced },
            image("names, and what was synced", names) { _ in .synced },
            image("everything", names) { _ in .all },
            image("everything, half of the last write to each file", names) { _ in .halfOfTheLast },
        ]
        for case (let name, let id?) in names where counts(name) && files[id]?.unsynced.isEmpty == false {
            images += [
                image("everything of \(name) alone", names) { $0 == id ? .all : .synced },
                image("\(name) alone, half of its last write", names) { $0 == id ? .halfOfTheLast : .synced },
                image("everything but \(name)", names) { $0 == id ? .synced : .all },
            ]
        }
        return images
    }
}

extension CutDisk.Content {
    fileprivate mutating func apply(_ change: DiskRecording.Change) {
        switch change.kind {
        case .written: write(change.data, at: change.offset)
        case .truncated: truncate(to: change.offset)
        case .allocated: allocate(change.offset)
        case .created, .directoryMade, .synced, .removed, .renamed: break
        }
    }
}
