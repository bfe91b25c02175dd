/// Waits for something that happens in another process, and asks for it again and again.
/// - Returns: false if it has not happened in time.
package func eventually(
    within limit: Duration = .seconds(20), _ condition: () async throws -> Bool
) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(10))
    }
    return true
}
