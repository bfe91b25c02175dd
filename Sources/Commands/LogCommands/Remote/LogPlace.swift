/// Whose logs a command is about: a store of this machine, or a device's at a collector. Pure.
enum LogPlace: Equatable {
    case store
    case collector

    /// Flags beat the environment; where only that says something, a store is nearer than a collector: an agent's environment has both.
    /// - Parameters:
    ///   - data: `--data`.
    ///   - remote: flags that only make sense for a collector, by name.
    init(data: String?, remote: [String], environment: [String: String]) throws(LogCommandError) {
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        if data != nil, let flag = remote.first {
            throw LogCommandError(.usage, "--data means logs of this machine, \(flag) those at a collector: give one of them")
        }
        if data != nil {
            self = .store
        } else if !remote.isEmpty {
            self = .collector
        } else if isSet("WS1_DATA") {
            self = .store
        } else {
            guard isSet("WS1_COLLECTOR") else {
                throw LogCommandError(
                    .usage, "which logs? Give --data DIR for those of this machine (or set WS1_DATA), or --collector URL --device ID")
            }
            self = .collector
        }
    }
}
