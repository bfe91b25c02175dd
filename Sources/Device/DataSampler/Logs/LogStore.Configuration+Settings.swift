import LogStore
import WireModel

extension LogStore.Configuration {
    /// The store of a data sampler's directory.
    package init(_ configuration: DataSamplerConfiguration, applicationName: String, applicationVersion: String) {
        self.init(directory: "\(configuration.directory)/\(DataSampler.logDirectoryName)", applicationName: applicationName)
        self.applicationVersion = applicationVersion
        flushInterval = .seconds(configuration.lossWindow)
        level = configuration.loggingEnabled ? .information : nil
        maximumBytes = configuration.logRetention.bytes
        maximumAge = .seconds(configuration.logRetention.days * 86_400)
        ringBytes = configuration.logRetention.verboseRingBytes
    }
}
