import Crypto
import FoundationEssentials
import WireModel

/// Which record files a purge would remove.
package struct PurgePlan: Equatable, Sendable {
    package struct File: Equatable, Sendable {
        package var partition: Partition
        package var bytes: Int64

        package init(partition: Partition, bytes: Int64) {
            self.partition = partition
            self.bytes = bytes
        }
    }

    /// What goes of one stream.
    package struct Stream: Equatable, Sendable {
        package var stream: StreamName
        package var files: Int
        package var bytes: Int64
        package var oldest: UTCDay
        package var newest: UTCDay
    }

    /// Oldest first in each stream.
    package var files: [File]

    package init(files: [File]) {
        self.files = files
    }

    /// Those of which something goes.
    package var streams: [Stream] {
        StreamName.allCases.compactMap { stream in
            let found = files.filter { $0.partition.stream == stream }
            guard let first = found.first, let last = found.last else { return nil }
            return Stream(
                stream: stream, files: found.count, bytes: found.reduce(0) { $0 + $1.bytes }, oldest: first.partition.day,
                newest: last.partition.day)
        }
    }

    /// Of these files and no others.
    package var confirmation: String {
        Data(SHA256.hash(data: Data(files.map(\.partition.name).joined(separator: "\n").utf8)).prefix(16)).hexadecimal
    }
}
