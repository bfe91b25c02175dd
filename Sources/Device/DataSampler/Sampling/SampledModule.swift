import SampleModules

/// What the schedule samples: a built-in module, or a custom one by its name. Built-in ones come first.
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
