import WireModel

/// Down to which level lines are written now. Pure.
enum LogCapture {
    /// - Parameters:
    ///   - command: a change of the level by command, for a while.
    ///   - capture: what requests that capture ask for: never less than is written anyway.
    ///   - isStopped: telemetry is disabled, a wipe is under way, consent is denied, or the device was unenrolled.
    /// - Returns: `nil`: nothing is written.
    static func level(_ settings: DeviceSettings.Logging, command: LogLevel?, capture: LogLevel?, isStopped: Bool) -> LogLevel? {
        guard settings.enabled, !isStopped else { return nil }
        let level = command ?? LogLevel(settings.level) ?? .information
        return max(level, capture ?? .error)
    }
}
