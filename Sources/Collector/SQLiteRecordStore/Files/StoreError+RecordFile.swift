import RecordStore

extension StoreError {
    /// Somebody truncated a record file to nothing.
    static func emptied(_ partition: Partition) -> StoreError { StoreError(.corrupt, "\(partition.name) is empty.") }
}
