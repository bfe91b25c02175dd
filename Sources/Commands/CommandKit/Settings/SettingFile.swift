/// What a configuration file says.
package struct SettingFile: Sendable {
    package let path: String
    package var values: [String: GivenSetting.Value]
    /// The line of each key, from 1. A key inside an object is found by the keys on the way to it and its own.
    package var lines: [[String]: Int]
    /// Keys that are unknown, are given twice or have no value. ``SettingLayers/read()`` throws them with what is wrong
    /// in the values, so that a person sees all of it at once.
    package var mistakes: [CommandError]

    package init(
        path: String, values: [String: GivenSetting.Value] = [:], lines: [[String]: Int] = [:],
        mistakes: [CommandError] = []
    ) {
        (self.path, self.values, self.lines, self.mistakes) = (path, values, lines, mistakes)
    }

    /// Notes a mistake at a key.
    package mutating func note(_ message: String, at key: [String]) {
        let line = lines[key].map { " (line \($0))" } ?? ""
        mistakes.append(CommandError(.usage, "\(path)\(line): \(message)"))
    }
}
