import SampleModules

/// The modules to sample, as a bit mask (ws1). Bits and names never change. The bits are ours; ws1 documents no values.
///
/// A mask may contain modules that this version or platform does not have. Starting a data sampler with one is refused,
/// never ignored.
public struct DataSamplerModules: OptionSet, Hashable, Sendable {
    /// The mask.
    public let rawValue: UInt32

    /// Makes a set from a mask.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    init(_ module: SampleModuleName) { self.init(rawValue: ModuleSet(module).rawValue) }

    /// Reads module names from configuration files: names, never numbers.
    ///
    /// - Throws: `invalidConfiguration` with the first name that is unknown or not available, and why.
    public init(names: [String]) throws(DataSamplerError) {
        do {
            self.init(rawValue: try ModuleSet(configurationNames: names).rawValue)
        } catch {
            throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
        }
    }

    /// The modules by name. Throws `invalidConfiguration` for one that is not available.
    var moduleNames: [SampleModuleName] {
        get throws(DataSamplerError) {
            do { return try ModuleSet(rawValue: rawValue).modules() } catch {
                throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
            }
        }
    }
}

extension DataSamplerModules {
    /// The modules that this platform offers, by name.
    package static let offeredNames = SampleModuleName.allCases.map(\.rawValue).filter {
        (try? DataSamplerModules(names: [$0])) != nil
    }

    /// The modules' names as a text of settings has them.
    package var names: String {
        SampleModuleName.allCases.filter { contains(DataSamplerModules($0)) }.map(\.rawValue).joined(separator: ",")
    }
}
