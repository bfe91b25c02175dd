import DataSampler

/// The singleton that decides what is sampled, and how often (ws1: a singleton with four required parameters).
public final class AWDataSampler: Sendable {
    private let engine: SDKEngine

    /// The data sampler of this process; the name is ours.
    public static let sharedInstance = AWDataSampler(engine: .shared)

    init(engine: SDKEngine) { self.engine = engine }

    /// Sets the four parameters (ws1); the call is ours. Before ``AWController/start()`` they are kept for it, later
    /// they take effect at once. Set ``AWController/configuration`` first.
    ///
    /// Without this call, and for what the profile decides, the profile and the defaults hold.
    ///
    /// - Parameters:
    ///   - sampleModules: the modules, as a bit mask.
    ///   - defaultSampleInterval: seconds between two samples of a module, 1 to 86,400.
    ///   - defaultTransmitInterval: seconds between two transmissions, 1 to 86,400.
    ///   - traceLevel: how much the data sampler logs about itself.
    ///   - completion: called once they are in force, or why not. `nil`: a failure is logged only.
    /// - Throws: an error of ``AWSDKError`` if a value is out of range, this platform lacks a module, or no
    ///   configuration was set. Then nothing has changed.
    public func configure(
        sampleModules: DataSamplerModules, defaultSampleInterval: Double, defaultTransmitInterval: Double,
        traceLevel: TraceLevel, completion: SDKCompletion? = nil
    ) throws {
        guard var changed = engine.configuration else {
            throw AWSDKError.missingRequiredInformation.error(
                "there is no configuration: set AWController.clientInstance().configuration first")
        }
        changed.sampleModules = sampleModules
        changed.defaultSampleInterval = defaultSampleInterval
        changed.defaultTransmitInterval = defaultTransmitInterval
        changed.traceLevel = traceLevel
        do { try changed.validate() } catch { throw AWSDKError.error(for: error) }
        engine.reconfigure(changed, completion)
    }
}

// The names are documented (ws1), their values are not: the bits are ours.

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Host, processors, memory, file systems, block devices, power, temperatures (ws1).
public let AWDataSamplerModuleSystem = DataSamplerModules.system
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The application's own usage (ws1).
public let AWDataSamplerModuleAnalytics = DataSamplerModules.analytics
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Position (ws1, 18.5), from gpsd or the source that the program gives.
public let AWDataSamplerModuleGPS = DataSamplerModules.gps
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Traffic per interface (ws1). Leave it out if a hub counts it already.
public let AWDataSamplerModuleNetworkData = DataSamplerModules.networkData
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Adapters, addresses, gateways, DNS servers (ws1).
public let AWDataSamplerModuleNetworkAdapter = DataSamplerModules.networkAdapter
// swift-format-ignore: AlwaysUseLowerCamelCase
/// Wireless interfaces (ws1).
public let AWDataSamplerModuleWLAN2Sample = DataSamplerModules.wlan2
