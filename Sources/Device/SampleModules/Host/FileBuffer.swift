/// Memory that readings of files share, so that a sample allocates none. Grows to what the longest file needs.
package struct FileBuffer: Sendable {
    private var storage: [UInt8]
    /// How many bytes the last reading gave.
    package private(set) var count = 0

    package init(capacity: Int = 16 * 1024) {
        storage = [UInt8](repeating: 0, count: capacity)
    }

    /// The bytes of the last reading; valid only inside `body`.
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        storage.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// Forgets what is in it, or all behind the first `length` bytes.
    package mutating func truncate(to length: Int = 0) {
        count = max(0, min(count, length))
    }

    /// Puts one message behind what is there.
    ///
    /// - Parameters:
    ///   - room: the free memory `next` is given, in bytes.
    ///   - next: answers how much it put there, or how much it would have; more than `room` or less than 0 adds
    ///     nothing.
    /// - Returns: the answer of `next`.
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

    /// Fills the buffer from `next`, which is given free memory and the offset and answers how much it put there.
    ///
    /// Ends at 0 (complete), at a negative answer (passed on) or when `maximumBytes` are full.
    /// - Returns: the last answer of `next`, or `nil` where the bound was met.
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
