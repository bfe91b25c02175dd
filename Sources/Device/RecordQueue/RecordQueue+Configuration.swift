import WireModel

extension RecordQueue {
    package struct Configuration: Sendable {
        /// The most the database file may take, 1 MiB to 1 GiB; the WAL takes 8 MiB beside it.
        package var maximumBytes = 64 << 20
        /// The file does not grow into this much free space, 0 or more. The first megabyte and the WAL are taken in any case.
        package var keepFreeBytes = 64 << 20
        /// Nor into this share of the file system's inodes, percent, 0 to 100.
        package var keepFreeInodesPercent = 1
        /// Records older than this, on the queue clock, are dropped; 1 min or more.
        package var maximumAge: Duration = .seconds(7 * 86400)
        /// Rows of one stream, 1 or more.
        package var maximumRecords = 1_000_000
        /// How long an ordinary record may wait in memory, 0...60 s; 0: every call waits for its own commit.
        package var lossWindow: Duration = .seconds(1)
        /// Bytes of records in the writer's buffer, those being committed included; 256 KiB (one record) or more.
        package var bufferBytes = 1 << 20
        /// Records and bytes kept aside at most, 0 or more: the oldest go.
        package var quarantineRecords = 64
        package var quarantineBytes = 1 << 20

        package init() {}

        func validate() throws(QueueError) {
            func check(_ valid: Bool, _ name: String, _ range: String) throws(QueueError) {
                guard valid else { throw QueueError(.invalid, "queue setting \(name) is out of range; expected \(range)") }
            }
            try check((1 << 20...1 << 30).contains(maximumBytes), "maximumBytes", "1 MiB to 1 GiB")
            try check(keepFreeBytes >= 0, "keepFreeBytes", "0 or more")
            try check((0...100).contains(keepFreeInodesPercent), "keepFreeInodesPercent", "0 to 100")
            try check(maximumAge >= .seconds(60), "maximumAge", "60 s or more")
            try check(maximumRecords >= 1, "maximumRecords", "1 or more")
            try check(lossWindow >= .zero && lossWindow <= .seconds(60), "lossWindow", "0 to 60 s")
            try check(bufferBytes >= WireLimits.recordBytes, "bufferBytes", "256 KiB or more")
            try check(quarantineRecords >= 0 && quarantineBytes >= 0, "quarantineRecords, quarantineBytes", "0 or more")
        }

        /// By how much the file grows at a time: 1 MiB, less where the cap is small.
        var growthPages: Int { max(16, min(256, maximumBytes / QueueFile.pageBytes / 16)) }
        var maximumPages: Int { maximumBytes / QueueFile.pageBytes }
        /// So that one transaction cannot take the whole of a small queue.
        var transactionBytes: Int { min(QueueFile.transactionBytes, maximumBytes / 8) }
    }
}
