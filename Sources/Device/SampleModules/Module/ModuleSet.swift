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

    /// The modules in it, by bit.
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
                message: "The module mask 0x\(String(rawValue, radix: 16)) has bits without a module: 0x\(String(rest, radix: 16)).")
        }
        return modules
    }

    /// Reads a list of names, refusing it at the first that is not offered.
    package init(configurationNames names: [String]) throws(SampleModuleError) {
        var set: ModuleSet = []
        for name in names {
            set.insert(ModuleSet(try SampleModuleName(configurationName: name)))
        }
        self = set
    }
}
