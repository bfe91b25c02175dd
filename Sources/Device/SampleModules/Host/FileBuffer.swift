/// Memory shared by all file reads, so a sample allocates none. It grows to the longest file's need.
package struct FileBuffer: Sendable {
    private var storage: [UInt8]
    /// Bytes that the last read returned.
    package private(set) var count = 0

    package init(capacity: Int = 16 * 1024) {
        storage = [UInt8](repeating: 0, count: capacity)
    }

    /// The bytes of the last read. Valid only inside `body`.
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        storage.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// Removes everything behind the first `length` bytes.
    package mutating func truncate(to length: Int = 0) {
        count = max(0, min(count, length))
    }

    /// Appends one message.
    ///
    /// - Parameters:
    ///   - room: the free memory that `next` receives, in bytes.
    ///   - next: returns the bytes it wrote, or would have written. More than `room` or less than 0 appends nothing.
    /// - Returns: the result of `next`.
    package mutating func append(room: Int, from next: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        if storage.count - count < room {
            storage.append(contentsOf: repeatElement(0, count: count + room - storage.count))
        }
        let offset = count
        let got = storage.withUnsafeMutableBytes {
            next(UnsafeMutableRawBufferPointer(rebasing: $0[offset..<(offset + room)]))
        }
        if got > 0, got <= room { count += got }
        return got
    }

    /// Fills the buffer by calling `next` with free memory and an offset. `next` returns the bytes it wrote.
    ///
    /// Ends when `next` returns 0 (complete) or a negative number (an error), or when `maximumBytes` are full.
    /// - Returns: the last result of `next`; `nil` if the limit was reached.
    package mutating func fill(maximumBytes: Int, from next: (UnsafeMutableRawBufferPointer, Int) -> Int) -> Int? {
        count = 0
        while count < maximumBytes {
            if count == storage.count {
                storage.append(contentsOf: repeatElement(0, count: min(storage.count, maximumBytes - storage.count)))
            }
            let offset = count
            let end = min(storage.count, maximumBytes)
            let got = storage.withUnsafeMutableBytes {
                next(UnsafeMutableRawBufferPointer(rebasing: $0[offset..<end]), offset)
            }
            guard got > 0 else { return got }
            count += got
        }
        return nil
    }
}
