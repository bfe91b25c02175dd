import FoundationEssentials
import Glibc
import WireModel

extension StoreDirectory {
    /// Makes it where it is missing, mode 0700, and those above it.
    package func make() throws(LogStoreError) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw .system("making", path) }
        try StoreDirectory(path: String(path[..<slash])).make()
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .system("making", path) }
    }

    /// Runs `body` with the state while holding `lock`, and replaces the file if it was changed: whole, synced if more than the next ordinal
    /// changed. What an earlier holder was about to remove is removed first.
    /// - Throws: `.busy`, `.newer`, and what `body` throws: nothing of the state is changed then.
    package func withState<Result>(
        _ body: (inout StoreState) throws(LogStoreError) -> Result
    ) throws(LogStoreError) -> Result {
        let lock = try StoreLock(self)
        defer { extendLifetime(lock) }
        let old = try readState()
        var state: StoreState
        if let old { state = old } else { state = StoreState(epoch: .random(), next: try greatestOrdinal() + 1) }
        for name in state.removing { try remove(name) }
        state.removing = []
        let result = try body(&state)
        guard state != old else { return result }
        try replaceState(state, isSynced: state.epoch != old?.epoch || state.dropped != old?.dropped || !state.removing.isEmpty)
        // Counted by now. What cannot be removed is tried again by the next holder.
        for name in state.removing { try? remove(name) }
        return result
    }

    /// As it stands, without waiting for a holder of `lock`; `nil` where there is none or it is damaged: the next holder begins a new epoch.
    /// - Throws: `.newer`, `.io`.
    package func readState() throws(LogStoreError) -> StoreState? {
        let path = path(SegmentName.stateName)
        do {
            let bytes = try StoreFile(reading: path).readWhole(maximumBytes: StoreState.maximumBytes)
            return try StoreState(text: String(decoding: bytes, as: UTF8.self), path: path)
        } catch {
            switch error.code {
            case .notFound, .damaged: return nil
            default: throw error
            }
        }
    }

    private func replaceState(_ state: StoreState, isSynced: Bool) throws(LogStoreError) {
        let partial = SegmentName.stateName + SegmentName.partialSuffix
        let file = try StoreFile(replacing: path(partial))
        try file.write(Array(state.text.utf8))
        if isSynced { try file.sync() }
        try rename(partial, to: SegmentName.stateName)
    }

    /// 0: none.
    private func greatestOrdinal() throws(LogStoreError) -> UInt64 {
        try names().compactMap { SegmentName.read(Self.withoutPartial($0))?.name.ordinal }.max() ?? 0
    }

    private static func withoutPartial(_ file: String) -> String {
        file.hasSuffix(SegmentName.partialSuffix) ? String(file.dropLast(SegmentName.partialSuffix.count)) : file
    }

    private func remove(_ name: SegmentName) throws(LogStoreError) {
        for part in SegmentName.Part.allCases { try remove(name.file(part)) }
    }
}
