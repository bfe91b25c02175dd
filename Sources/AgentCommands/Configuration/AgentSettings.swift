import DataSampler
import FoundationEssentials

/// What the agent runs with, checked value by value; each error names the flag, variable or key that gave the value.
struct AgentSettings: Sendable {
    var configuration: DataSamplerConfiguration

    /// The agent's own defaults, where they are not the library's.
    enum Default {
        static let beaconInterval = 900.0
        static let lossWindow = 10.0
        static let logLevel = TraceLevel.information
    }

    /// - Parameter needsCollector: whether the command speaks to the collector; others use a directory whose agent is configured elsewhere.
    init(_ layers: SettingLayers, needsCollector: Bool) throws(AgentError) {
        func required(_ name: SettingName, _ what: String) throws(AgentError) -> String {
            guard let text = try Self.text(layers[name]) else {
                throw AgentError(
                    .usage, "\(what) is not given: use \(name.flag), \(name.variable) or \(name.fileKey) in the configuration file")
            }
            return text
        }
        configuration = DataSamplerConfiguration(
            directory: try required(.data, "the data directory"),
            collectorURL: needsCollector ? try required(.collector, "the collector's URL") : (try Self.text(layers[.collector]) ?? ""),
            enrollmentToken: try Self.token(layers), traceLevel: try Self.level(layers[.logLevel]) ?? Default.logLevel)
        configuration.sampleModules = try Self.modules(layers[.modules])
        configuration.defaultSampleInterval = try Self.seconds(layers[.sampleInterval], .interval)
        configuration.defaultTransmitInterval = try Self.seconds(layers[.transmitInterval], .interval)
        configuration.eventHold = try Self.seconds(layers[.eventHold], .eventHold)
        configuration.beaconInterval = try Self.seconds(layers[.beaconInterval], .beacon) ?? Default.beaconInterval
        configuration.lossWindow = try Self.seconds(layers[.lossWindow], .lossWindow) ?? Default.lossWindow
        configuration.certificateAuthorityFile = try Self.text(layers[.ca])
        configuration.proxyURL = try Self.text(layers[.proxy])
        configuration.moduleIntervals = try Self.intervals(layers[.moduleIntervals])
        guard needsCollector else { return }
        try Self.checkAddresses(configuration, layers)
    }

    private static func checkAddresses(_ configuration: DataSamplerConfiguration, _ layers: SettingLayers) throws(AgentError) {
        do { try configuration.validate() } catch {
            // Everything else was checked above: what is left are the addresses.
            let origins = [layers[.collector]?.origin, layers[.proxy]?.origin].compactMap { $0 }.joined(separator: ", ")
            throw AgentError(.usage, "\(origins): \(error.message)", cause: error)
        }
    }

    private static func text(_ given: GivenSetting?) throws(AgentError) -> String? {
        guard let given else { return nil }
        guard case .text(let text) = given.value, !text.isEmpty else {
            throw AgentError(.usage, "\(given.origin) must be a text that is not empty")
        }
        return text
    }

    private static func seconds(_ given: GivenSetting?, _ range: SecondsRange) throws(AgentError) -> Double? {
        guard let given else { return nil }
        let value: Double? =
            switch given.value {
            case .number(let number): number
            case .text(let text): Double(text)
            case .list, .intervals: nil
            }
        guard let value, range.contains(value) else {
            throw AgentError(.usage, "\(given.origin) is \(shown(given.value)): it must be a number, \(range)")
        }
        return value
    }

    private static func modules(_ given: GivenSetting?) throws(AgentError) -> DataSamplerModules? {
        guard let given else { return nil }
        let names: [String]
        switch given.value {
        case .list(let list): names = list
        case .text(let text): names = text.split(separator: ",").map(trimmed)
        case .number, .intervals:
            throw AgentError(.usage, "\(given.origin) is \(shown(given.value)): it must be names of modules, never a number")
        }
        do { return try DataSamplerModules(names: names) } catch {
            throw AgentError(.usage, "\(given.origin): \(error.message)", cause: error)
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    private static func level(_ given: GivenSetting?) throws(AgentError) -> TraceLevel? {
        guard let given else { return nil }
        guard case .text(let text) = given.value, let level = TraceLevel(name: text) else {
            let names = TraceLevel.allCases.map(\.rawValue).joined(separator: ", ")
            throw AgentError(.usage, "\(given.origin) is \(shown(given.value)): it must be one of \(names)")
        }
        return level
    }

    private static func token(_ layers: SettingLayers) throws(AgentError) -> String? {
        let token = layers[.enrollmentToken]
        let file = layers[.enrollmentTokenFile]
        if let token, let file {
            throw AgentError(.usage, "\(token.origin) and \(file.origin) are both given: give one")
        }
        if token != nil { return try text(token) }
        guard let file, let path = try text(file) else { return nil }
        guard let bytes = try? Data(contentsOf: URL(filePath: path)), bytes.count <= 4096,
            let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first
        else {
            throw AgentError(
                .usage, "\(file.origin): no enrollment token in \(path): it must be readable and hold one line of at most 4096 bytes")
        }
        return trimmed(line)
    }

    private static func intervals(_ given: GivenSetting?) throws(AgentError) -> [String: DataSamplerConfiguration.ModuleIntervals] {
        guard let given else { return [:] }
        guard case .intervals(let modules) = given.value else {
            throw AgentError(.usage, "\(given.origin) must be an object such as {system: {sampleInterval: 10}}")
        }
        var result: [String: DataSamplerConfiguration.ModuleIntervals] = [:]
        for (module, values) in modules.sorted(by: { $0.key < $1.key }) {
            do { _ = try DataSamplerModules(names: [module]) } catch {
                throw AgentError(.usage, "\(given.origin): \(error.message)", cause: error)
            }
            var intervals = DataSamplerConfiguration.ModuleIntervals()
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                let origin = "\(module).\(key) of \(given.origin)"
                let checked = try seconds(GivenSetting(value: .number(value), origin: origin), .interval)
                switch key {
                case SettingName.sampleInterval.fileKey: intervals.sampleInterval = checked
                case SettingName.transmitInterval.fileKey: intervals.transmitInterval = checked
                default: throw AgentError(.usage, "unknown key '\(origin)'; known are sampleInterval, transmitInterval")
                }
            }
            result[module] = intervals
        }
        return result
    }

    private static func shown(_ value: GivenSetting.Value) -> String {
        switch value {
        case .text(let text): "'\(text)'"
        case .number(let number): "\(number)"
        case .list(let list): "[\(list.joined(separator: ", "))]"
        case .intervals: "an object"
        }
    }
}
