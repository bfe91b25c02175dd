import LogStore

/// Something whose lines are taken into the log store: files, the journal, the kernel's ring, sockets.
///
/// A source reads and never decides what counts. ``IntakeCommitter`` stores each batch with the positions in it, and
/// tells the source what became of it. So a source keeps nothing on disk itself. One thread at a time uses a source.
package protocol IntakeSource: AnyObject {
    /// Begins, or goes back, to what is stored: at the start, and after a batch that could not be stored. The next
    /// batch has the lines behind these positions, some of them for the second time.
    /// - Parameters:
    ///   - positions: what was committed. Empty at the first start of the source.
    func begin(at positions: [String: [UInt8]])

    /// Adds lines and their positions until the batch is full or nothing is left for now. Waits 100 ms at most,
    /// for a helper process; never for whoever writes the source.
    /// - Returns: whether there is more to read at once.
    func read(into batch: inout IntakeBatch) -> Bool

    /// The last batch is on synced disk. Now the source may let go of it: close a file, answer a sender.
    func committed()

    /// The intake ends: nothing more is received from others.
    /// - Returns: whether lines may be in memory that come from nowhere a second time. The caller stores them first.
    func stop() -> Bool

    /// The last call, after ``stop()`` and what was stored then: lets go of everything.
    func end()

    /// How far reading is behind writing, as of the last read.
    var lag: IntakeLag { get }
}

extension IntakeSource {
    /// For sources that are read again from their positions.
    package func stop() -> Bool { false }

    package func end() {}
}

/// Where reading begins when a source is started for the first time.
package enum IntakeStart: Equatable, Sendable {
    /// With all that is there.
    case all
    /// Behind what is there.
    case now
    /// With what was written since then. Microseconds since 1970.
    case since(Int64)
}

/// How far a source is behind.
package struct IntakeLag: Equatable, Sendable {
    /// Bytes that are there and not read yet; `nil` if the source cannot tell.
    package var bytes: Int?
    /// Things that are read: files, journals, connections.
    package var parts = 0
    /// What cannot be read at present, with the remedy. At most 10.
    package var problems: [String] = []
    /// Data points that were put into the device's queue since the start; `nil` if the source has none.
    package var dataPoints: UInt64?

    package init(bytes: Int? = nil, parts: Int = 0, problems: [String] = [], dataPoints: UInt64? = nil) {
        self.bytes = bytes
        self.parts = parts
        self.problems = problems
        self.dataPoints = dataPoints
    }
}
