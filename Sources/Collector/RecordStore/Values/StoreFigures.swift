import WireModel

package enum StoreReadiness: Equatable, Sendable {
    case ready
    case notReady(String)
}

package struct StoreFigures: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        package var stream: StreamName
        package var files = 0
        package var fileBytes: UInt64 = 0
        /// Bytes of parts that wait for the disk or are being written.
        package var pipelineBytes = 0
        package var pipelineLimitBytes = 0

        package init(
            stream: StreamName, files: Int = 0, fileBytes: UInt64 = 0, pipelineBytes: Int = 0,
            pipelineLimitBytes: Int = 0
        ) {
            self.stream = stream
            self.files = files
            self.fileBytes = fileBytes
            self.pipelineBytes = pipelineBytes
            self.pipelineLimitBytes = pipelineLimitBytes
        }
    }

    package struct Disk: Equatable, Sendable {
        /// Bytes an ordinary user may still write.
        package var freeBytes: UInt64
        package var sizeBytes: UInt64

        package init(freeBytes: UInt64, sizeBytes: UInt64) {
            self.freeBytes = freeBytes
            self.sizeBytes = sizeBytes
        }
    }

    /// The tables for people, which are filled after the answer to a device.
    package struct PeopleTables: Equatable, Sendable {
        /// The age of the oldest records that are not in the tables, in seconds; 0 if none are missing.
        package var lagSeconds: Double
        /// Slices of records that are not in the tables.
        package var waitingSlices: Int

        package init(lagSeconds: Double, waitingSlices: Int) {
            self.lagSeconds = lagSeconds
            self.waitingSlices = waitingSlices
        }
    }

    package var streams: [Stream]
    /// `nil` if the system does not report it.
    package var disk: Disk?
    /// `nil` for a store without them, or if their server does not answer.
    package var peopleTables: PeopleTables?

    package init(streams: [Stream] = [], disk: Disk? = nil, peopleTables: PeopleTables? = nil) {
        self.streams = streams
        self.disk = disk
        self.peopleTables = peopleTables
    }
}
