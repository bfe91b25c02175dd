import WireModel

extension SQLiteRecordStore {
    /// A file that could not be read, as somebody beside the store has found.
    package func noteDamage(_ partition: Partition, _ message: String) {
        damaged.note(partition, message)
    }

    /// Replaces the record files that were found damaged, oldest first (`RecordSalvage`). Their streams wait
    /// meanwhile, others go on.
    /// - Parameter again: whether to look again at what could not be mended before.
    /// - Returns: how many were replaced.
    package func salvageDamaged(again: Bool = false) async -> Int {
        if again { damaged.lookAgain() }
        var count = 0
        for partition in damaged.suspects where await writers[partition.stream]?.salvage(partition.day) == true {
            count += 1
        }
        return count
    }

    package func unreadableFiles(of stream: StreamName) -> [String] { damaged.names(of: stream) }
}
