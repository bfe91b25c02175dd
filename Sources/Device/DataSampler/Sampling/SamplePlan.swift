import SampleModules

/// The modules that are sampled and how often, from the settings in force and what slows or stops it. Pure.
struct SamplePlan: Equatable, Sendable {
    var intervals: [SampledModule: SampleInterval] = [:]

    /// Nothing.
    init() {}

    /// - Parameters:
    ///   - custom: the custom modules registered, with the interval each asks for.
    ///   - slowdown: intervals are so many times longer, 1 or more: the budgets'.
    ///   - isPaused: nothing is sampled: suspended, do-not-disturb, telemetry disabled, wiped.
    init(settings: DeviceSettings, custom: [String: Double?], slowdown: Double, isPaused: Bool) {
        guard !isPaused, !settings.telemetryDisabled else { return }
        for module in settings.modules where module != .custom {
            intervals[.builtIn(module)] = Self.interval(settings.sampleIntervals[module], slowdown)
        }
        guard settings.modules.contains(.custom) else { return }
        for (name, asked) in custom where !settings.disabledCustomModules.contains(name) {
            let seconds = settings.customIntervals[name] ?? asked ?? settings.sampleIntervals[.custom]
            intervals[.custom(name)] = Self.interval(seconds, slowdown)
        }
    }

    /// The interval for a requested one, which was validated; slowed down it may be beyond the greatest and is held
    /// there.
    private static func interval(_ seconds: Double?, _ slowdown: Double) -> SampleInterval? {
        let slowed = (seconds ?? SecondsRange.interval.greatest) * max(1, slowdown)
        return try? SampleInterval(seconds: min(max(slowed, SampleInterval.least), SampleInterval.greatest))
    }
}

/// A module that the schedule samples: a built-in one, or a custom one by its name. Built-in ones come first.
enum SampledModule: Hashable, Comparable, Sendable {
    case builtIn(SampleModuleName)
    case custom(String)

    var name: String {
        switch self {
        case .builtIn(let module): module.rawValue
        case .custom(let name): name
        }
    }
}
