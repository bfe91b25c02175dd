import WireModel

/// Which other devices are, or may be, the same machine.
package struct DeviceLineage: Equatable, Sendable {
    /// Of either kind.
    static let maximum = 16

    /// By administrators' word, the nearest first; their logs are shown with the device's own.
    package var predecessors: [DeviceID]
    /// Of the same machine and application, enrolled later and nobody's successor yet; they inherit nothing by themselves.
    package var possibleSuccessors: [DeviceID] = []

    package init(predecessors: [DeviceID], possibleSuccessors: [DeviceID] = []) {
        self.predecessors = predecessors
        self.possibleSuccessors = possibleSuccessors
    }
}
