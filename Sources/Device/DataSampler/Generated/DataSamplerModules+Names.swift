// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import SampleModules

extension DataSamplerModules {
    /// Host, processors, memory, file systems, block devices, power, temperatures (ws1: `AWDataSamplerModuleSystem`).
    public static let system = DataSamplerModules(.system)
    /// The application's own usage.
    public static let analytics = DataSamplerModules(.analytics)
    /// Position, from gpsd.
    public static let gps = DataSamplerModules(.gps)
    /// Traffic per interface.
    public static let networkData = DataSamplerModules(.networkData)
    /// Reserved; not available on this platform.
    public static let callLog = DataSamplerModules(.callLog)
    /// Adapters, addresses, gateways, DNS servers.
    public static let networkAdapter = DataSamplerModules(.networkAdapter)
    /// Wireless interfaces.
    public static let wlan2 = DataSamplerModules(.wlan2)
    /// All modules that the application registers.
    public static let custom = DataSamplerModules(.custom)
}
