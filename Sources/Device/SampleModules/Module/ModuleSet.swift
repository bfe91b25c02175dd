extension SampleModuleName {
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
        if SampleModuleName.reserved.contains(self) {
            throw SampleModuleError(
                code: .notOfferedByPlatform,
                message:
                    "Sample module \"\(rawValue)\" is not offered by this platform. Remove it from the list of modules."
            )
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
