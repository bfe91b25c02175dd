import CFileCopy
import Crypto
import FoundationEssentials
import Glibc
import TelemetryBasics

/// The destination of a chunk's bytes.
package protocol ChunkSink {
    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(LogStoreError)
    /// Copies a range of a file unchanged.
    mutating func copy(_ range: Range<Int>, of file: borrowing OpenFile<LogStoreError>) throws(LogStoreError)
}

extension ChunkSink {
    package mutating func copy(_ range: Range<Int>, of file: borrowing OpenFile<LogStoreError>) throws(LogStoreError) {
        try write(range: range, of: file)
    }

    mutating func write(_ bytes: [UInt8]) throws(LogStoreError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(LogStoreError) in try write(UnsafeRawBufferPointer(buffer))
        }
    }

    mutating func write(range: Range<Int>, of file: borrowing OpenFile<LogStoreError>) throws(LogStoreError) {
        let count = try file.forEachBlock(of: range) { (block) throws(LogStoreError) in try write(block) }
        guard count == range.count else {
            throw LogStoreError(
                .damaged,
                """
                \(file.path) ends after \(range.lowerBound + count) bytes, \(range.upperBound) are expected. Plan the \
                chunks again.
                """
            )
        }
    }
}

/// Collects a chunk in memory.
package struct MemoryChunkSink: ChunkSink {
    package private(set) var data = Data()

    package init() {}

    package mutating func write(_ bytes: UnsafeRawBufferPointer) { data.append(contentsOf: bytes) }
}

/// Counts and hashes the bytes and passes them on.
package struct DigestChunkSink<Target: ChunkSink>: ChunkSink {
    package private(set) var target: Target
    package private(set) var bytes = 0
    private var hash = SHA256()

    package init(_ target: Target) { self.target = target }

    package var digest: Data { Data(hash.finalize()) }

    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(LogStoreError) {
        self.bytes += bytes.count
        hash.update(bufferPointer: bytes)
        try target.write(bytes)
    }
}

/// Discards the bytes. Used to compute a digest alone.
package struct DiscardingChunkSink: ChunkSink {
    package init() {}
    package mutating func write(_ bytes: UnsafeRawBufferPointer) {}
    package mutating func copy(_ range: Range<Int>, of file: borrowing OpenFile<LogStoreError>) {}
}

/// Appends to an open file. The kernel copies ranges of files, and shares their blocks if the file system can.
package struct FileChunkSink: ChunkSink {
    private let descriptor: Int32
    private let path: String

    /// - Parameter descriptor: the caller keeps it and closes it.
    package init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(LogStoreError) {
        if let systemError = writeAll(bytes, to: descriptor).systemError {
            throw LogStoreError(FileError("writing", path, systemError))
        }
    }

    package mutating func copy(_ range: Range<Int>, of file: borrowing OpenFile<LogStoreError>) throws(LogStoreError) {
        var offset = off_t(range.lowerBound)
        while offset < off_t(range.upperBound) {
            let count = retryingOnInterrupt {
                copy_file_range(file.descriptor, &offset, descriptor, nil, range.upperBound - Int(offset), 0)
            }
            // The kernel cannot copy into pipes, nor on some file systems.
            guard count > 0 else { return try write(range: Int(offset)..<range.upperBound, of: file) }
        }
    }
}
