/// Where the closing of ended epochs stands.
package enum CloseProgress: Equatable, Sendable {
    /// Ask `nextClose` once more: finer points, or another epoch.
    case again
    /// Nothing is to be closed.
    case settled
}
