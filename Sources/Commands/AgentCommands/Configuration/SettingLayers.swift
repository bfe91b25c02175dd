/// A setting as somebody gave it, and where: errors name the flag, variable or key to change.
struct GivenSetting: Sendable {
    enum Value: Equatable, Sendable, CustomStringConvertible {
        case text(String)
        case number(Double)
        case flag(Bool)
        case list([String])
        case table([String: Value])

        /// As a message shows it.
        var description: String {
            switch self {
            case .text(let text): "'\(text)'"
            case .number(let number): "\(number)"
            case .flag(let flag): "\(flag)"
            case .list(let list): "[\(list.joined(separator: ", "))]"
            case .table: "an object"
            }
        }
    }

    var value: Value
    /// `--sample-interval`, `WS1_SAMPLE_INTERVAL` or `sampleInterval in FILE`.
    var origin: String
}

/// Flags over environment over file. One look-up for all settings, so that none can differ in its precedence.
struct SettingLayers: Sendable {
    private var given: [SettingName: GivenSetting] = [:]

    /// - Parameter file: the configuration file's keys, and its path for messages.
    init(flags: [SettingName: String], environment: [String: String], file: (values: [SettingName: GivenSetting.Value], path: String)?) {
        for name in SettingName.allCases {
            if let text = flags[name] {
                given[name] = GivenSetting(value: .text(text), origin: name.flag)
            } else if !name.isTable, let text = environment[name.variable] {
                given[name] = GivenSetting(value: .text(text), origin: name.variable)
            } else if let file, let value = file.values[name] {
                given[name] = GivenSetting(value: value, origin: "\(name.fileKey) in \(file.path)")
            }
        }
    }

    subscript(name: SettingName) -> GivenSetting? { given[name] }

    /// The settings that have another value than in `former`, wherever it is given.
    func changes(from former: SettingLayers) -> [SettingName] {
        SettingName.allCases.filter { self[$0]?.value != former[$0]?.value }
    }
}
