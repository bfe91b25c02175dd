// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.

/// The modules of a sampler. Names and bits never change.
///
/// Configuration uses the raw value, never a number. The bits are ours: the public documentation of ws1 names its
/// modules, and gives no values. Bit 7 stays unused.
package enum SampleModuleName: String, Sendable, Hashable, CaseIterable {
    case system
    case analytics
    case gps
    case networkData
    case callLog
    case networkAdapter
    case wlan2
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
        .system, .analytics, .gps, .networkData, .networkAdapter, .wlan2, .custom,
    ]

    /// Names that stay refused: this platform has nothing to sample.
    static let reserved: Set<SampleModuleName> = [.callLog]
}

extension ModuleSet {
    package static let system = ModuleSet(SampleModuleName.system)
    package static let analytics = ModuleSet(SampleModuleName.analytics)
    package static let gps = ModuleSet(SampleModuleName.gps)
    package static let networkData = ModuleSet(SampleModuleName.networkData)
    package static let callLog = ModuleSet(SampleModuleName.callLog)
    package static let networkAdapter = ModuleSet(SampleModuleName.networkAdapter)
    package static let wlan2 = ModuleSet(SampleModuleName.wlan2)
    package static let custom = ModuleSet(SampleModuleName.custom)
}
