/// The modules a sampler can be asked for. Names and bits are stable for ever.
///
/// Configuration uses the raw value, never a number. The bits are those of the Workspace ONE SDK's
/// `AWDataSamplerModuleBitmask`; bit 7 is its application module, which has no counterpart here and stays free.
package enum SampleModuleName: String, Sendable, Hashable, CaseIterable {
    case system
    case analytics
    case gps
    case networkData
    /// Reserved: refused wherever it is named (see ``init(configurationName:)``).
    case callLog
    case networkAdapter
    case wlan2
    /// All modules that an application registers by itself.
    case custom

    /// The module's place in a ``ModuleSet``.
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

    /// What this version can sample.
    package static let offered: Set<SampleModuleName> = [.system, .analytics, .networkData, .networkAdapter, .wlan2, .custom]

    /// Reads a name from a configuration file, the command line or a profile.
    ///
    /// - Throws: `unknownModule` (numbers too), `notOfferedByPlatform` or `notOfferedYet`; a name never passes silently.
    package init(configurationName name: String) throws(SampleModuleError) {
        guard let module = SampleModuleName(rawValue: name) else {
            let names = SampleModuleName.allCases.filter { $0 != .callLog }.map(\.rawValue).joined(separator: ", ")
            let hint =
                name.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
                ? "modules are given by name, never by number" : "names are case-sensitive"
            throw SampleModuleError(
                code: .unknownModule, message: "There is no sample module \"\(name)\"; \(hint). Known modules: \(names).")
        }
        try module.requireOffered()
        self = module
    }

    /// Refuses a module that this version or platform does not have.
    package func requireOffered() throws(SampleModuleError) {
        if self == .callLog {
            throw SampleModuleError(
                code: .notOfferedByPlatform,
                message: "Sample module \"callLog\" is not offered by this platform. Remove it from the list of modules.")
        }
        guard SampleModuleName.offered.contains(self) else {
            let names = SampleModuleName.offered.map(\.rawValue).sorted().joined(separator: ", ")
            throw SampleModuleError(
                code: .notOfferedYet,
                message: "Sample module \"\(rawValue)\" is not offered by this version, which has: \(names). Remove it or update.")
        }
    }
}

extension SampleModuleName: Comparable {
    /// By bit.
    package static func < (left: SampleModuleName, right: SampleModuleName) -> Bool { left.bit < right.bit }
}
