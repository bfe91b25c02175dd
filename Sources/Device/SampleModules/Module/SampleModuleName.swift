/// The modules of a sampler. Names and bits never change.
///
/// Configuration uses the raw value, never a number. The bits are ours: the public documentation of ws1 names its
/// modules, and gives no values. Bit 7 stays unused.
package enum SampleModuleName: String, Sendable, Hashable, CaseIterable {
    case system
    case analytics
    case gps
    case networkData
    /// Reserved; refused wherever it is named (see ``init(configurationName:)``).
    case callLog
    case networkAdapter
    case wlan2
    /// All modules that the application registers.
    case custom

    /// The module's bit in a ``ModuleSet``.
    package var bit: UInt8 {
        switch self {
        case .system: 0
        case .analytics: 1
        case .gps: 2
        case .networkData: 3
        case .callLog: 4
        case .networkAdapter: 5
        case .wlan2: 6
        case .custom: 8
        }
    }

    /// The modules of this version.
    package static let offered: Set<SampleModuleName> = [
        .system, .analytics, .networkData, .networkAdapter, .wlan2, .custom,
    ]

    /// Reads a name from a configuration file, the command line or a profile.
    ///
    /// - Throws: `unknownModule` (also for numbers), `notOfferedByPlatform` or `notOfferedYet`. No unknown name passes
    ///   silently.
    package init(configurationName name: String) throws(SampleModuleError) {
        guard let module = SampleModuleName(rawValue: name) else {
            let names = SampleModuleName.offered.map(\.rawValue).sorted().joined(separator: ", ")
            let hint =
                name.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
                ? "modules are given by name, never by number" : "names are case-sensitive"
            throw SampleModuleError(
                code: .unknownModule,
                message: "There is no sample module \"\(name)\"; \(hint). This version has: \(names).")
        }
        try module.requireOffered()
        self = module
    }

    /// Throws if this version or platform does not have the module.
    package func requireOffered() throws(SampleModuleError) {
        if self == .callLog {
            throw SampleModuleError(
                code: .notOfferedByPlatform,
                message:
                    "Sample module \"callLog\" is not offered by this platform. Remove it from the list of modules.")
        }
        guard SampleModuleName.offered.contains(self) else {
            let names = SampleModuleName.offered.map(\.rawValue).sorted().joined(separator: ", ")
            throw SampleModuleError(
                code: .notOfferedYet,
                message:
                    "Sample module \"\(rawValue)\" is not offered by this version, which has: \(names). Remove it or "
                    + "update."
            )
        }
    }
}

extension SampleModuleName: Comparable {
    /// Orders names by their bit.
    package static func < (left: SampleModuleName, right: SampleModuleName) -> Bool { left.bit < right.bit }
}

/// A set of modules as a bit mask (the documented form of `sampleModules`).
package struct ModuleSet: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package init(_ module: SampleModuleName) {
        self.init(rawValue: 1 << UInt32(module.bit))
    }

    package static let system = ModuleSet(SampleModuleName.system)
    package static let analytics = ModuleSet(SampleModuleName.analytics)
    package static let gps = ModuleSet(SampleModuleName.gps)
    package static let networkData = ModuleSet(SampleModuleName.networkData)
    package static let callLog = ModuleSet(SampleModuleName.callLog)
    package static let networkAdapter = ModuleSet(SampleModuleName.networkAdapter)
    package static let wlan2 = ModuleSet(SampleModuleName.wlan2)
    package static let custom = ModuleSet(SampleModuleName.custom)

    /// The modules of the set in the order of their bits.
    ///
    /// - Throws: `unknownModule` for a bit without a module, and what ``SampleModuleName/requireOffered()`` throws.
    package func modules() throws(SampleModuleError) -> [SampleModuleName] {
        var rest = rawValue
        var modules: [SampleModuleName] = []
        for module in SampleModuleName.allCases.sorted(by: { $0.bit < $1.bit }) where contains(ModuleSet(module)) {
            try module.requireOffered()
            modules.append(module)
            rest &= ~ModuleSet(module).rawValue
        }
        guard rest == 0 else {
            throw SampleModuleError(
                code: .unknownModule,
                message:
                    "The module mask 0x\(String(rawValue, radix: 16)) has bits without a module: "
                    + "0x\(String(rest, radix: 16))."
            )
        }
        return modules
    }

    /// Reads a list of names. Throws at the first name that is not offered.
    package init(configurationNames names: [String]) throws(SampleModuleError) {
        var set: ModuleSet = []
        for name in names {
            set.insert(ModuleSet(try SampleModuleName(configurationName: name)))
        }
        self = set
    }
}
