import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// `<data>/moved.json`: a cluster has imported the data directory, and devices may have sent records to it since.
///
/// A collector that served the directory again would answer with marks that are out of date. So whoever opens
/// `collector.sqlite` for writing is refused. Reading stays possible.
package struct MovedMarker: Equatable, Sendable, Codable {
    /// Names the cluster, for people. It has no password.
    package var cluster: String
    /// Microseconds since 1970.
    package var at: Int64

    private static let maximumBytes = 65_536

    package init(cluster: String, at: Int64) {
        self.cluster = cluster
        self.at = at
    }

    /// - Returns: `nil` if the directory has not moved.
    /// - Throws: `.corrupt` for a file that cannot be read. It counts as a marker.
    package static func read(in directory: DataDirectory) throws(StoreError) -> MovedMarker? {
        let path = directory.movedPath
        guard let bytes = try Files<StoreError>.read(path, maximumBytes: maximumBytes) else { return nil }
        do { return try JSONDecoder().decode(MovedMarker.self, from: Data(bytes)) } catch {
            throw StoreError(
                .corrupt,
                "\(path) says that the directory has moved to a cluster, and cannot be read. Serve the cluster.")
        }
    }

    /// The marker is on synced disk when it returns.
    package func write(in directory: DataDirectory) throws(StoreError) {
        let bytes: Data
        do { bytes = try JSONEncoder.stable(.prettyPrinted).encode(self) } catch {
            throw StoreError(.io, "\(directory.movedPath) cannot be written as JSON: \(error)")
        }
        try Files<StoreError>.replace(directory.movedPath, with: bytes.bytes)
    }

    package func refusal(_ path: String) -> StoreError {
        StoreError(
            .conflict,
            "\(path) was moved to the cluster \(cluster) on \(Timestamp.text(at)). Devices may have sent records there "
                + "since, so nothing is written here any more. Serve the cluster.")
    }
}
