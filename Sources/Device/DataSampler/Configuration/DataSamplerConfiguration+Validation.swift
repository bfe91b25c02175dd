import HTTPTransport
import SampleModules
import WireModel

extension DataSamplerConfiguration {
    package static let greatestCredentialDays = 3650.0

    /// Checks every value against its range, without touching the disk or the network.
    ///
    /// - Throws: `invalidConfiguration` naming the first value outside its range, the value and the range.
    public func validate() throws(DataSamplerError) {
        try Self.check("defaultSampleInterval", defaultSampleInterval, .interval)
        try Self.check("defaultTransmitInterval", defaultTransmitInterval, .interval)
        try Self.check("eventHold", eventHold, .eventHold)
        try Self.check("lossWindow", lossWindow, .lossWindow)
        try Self.check("beaconInterval", beaconInterval, .beacon)
        try Self.check("offlineTimeAllowed", offlineTimeAllowed, .offline)
        guard (0...Self.greatestCredentialDays).contains(credentialDays) else {
            throw DataSamplerError(
                .invalidConfiguration,
                "credentialDays is \(credentialDays): it must be 0 to \(Int(Self.greatestCredentialDays)) days, 0 for never")
        }
        _ = try sampleModules?.moduleNames
        for (name, intervals) in moduleIntervals.sorted(by: { $0.key < $1.key }) {
            try Self.check("moduleIntervals", module: name)
            try Self.check("moduleIntervals.\(name).sampleInterval", intervals.sampleInterval, .interval)
            try Self.check("moduleIntervals.\(name).transmitInterval", intervals.transmitInterval, .interval)
        }
        // A module may be disabled that this version does not offer: it stays off.
        for name in disabledModules.sorted() where SampleModuleName(rawValue: name) == nil {
            try Self.check("disabledModules", module: name)
        }
        for name in privacy.keys.sorted() where FieldClass.decidable.allSatisfy({ $0.rawValue != name }) {
            throw DataSamplerError(
                .invalidConfiguration,
                "privacy names '\(name)': the classes are \(FieldClass.decidable.map(\.rawValue).sorted().joined(separator: ", "))")
        }
        try checkBudgets()
        try checkLogRetention()
        if let digest = expectedBinaryDigest, digest.utf8.count != 64 || !digest.allSatisfy(\.isHexDigit) {
            throw DataSamplerError(.invalidConfiguration, "expectedBinaryDigest is no SHA-256: it must be 64 hexadecimal digits")
        }
        guard !directory.isEmpty else {
            throw DataSamplerError(.invalidConfiguration, "directory is empty: name where the queue shall lie")
        }
        guard (clientKeyFile == nil) == (clientSigningRequestFile == nil) else {
            throw DataSamplerError(
                .invalidConfiguration,
                "\(clientKeyFile == nil ? "clientSigningRequestFile" : "clientKeyFile") is given alone: a client certificate needs the key and "
                    + "the request that was made with it")
        }
        let transport = try transportConfiguration
        do { try transport.checkPlaintext() } catch { throw DataSamplerError(.invalidConfiguration, error.message, cause: error) }
    }

    /// Checks what ``validate()`` leaves to the start because it lies on disk: the files that are named. A start checks the same first.
    package func validateFiles() throws(DataSamplerError) {
        let transport = try transportConfiguration
        do { try transport.check() } catch { throw DataSamplerError(.invalidConfiguration, error.message, cause: error) }
    }

    private func checkBudgets() throws(DataSamplerError) {
        guard let budgets else { return }
        if let share = budgets.processorShare, !(share > 0 && share <= 1) {
            throw DataSamplerError(.invalidConfiguration, "budgets.processorShare is \(share): it must be above 0 and at most 1")
        }
        for (name, bytes) in [("sentBytesPerDay", budgets.sentBytesPerDay), ("writtenBytesPerDay", budgets.writtenBytesPerDay)]
        where bytes == 0 {
            throw DataSamplerError(.invalidConfiguration, "budgets.\(name) is 0: it must be 1 or more; nil is no budget")
        }
    }

    private func checkLogRetention() throws(DataSamplerError) {
        func refuse(_ name: String, _ value: some Any, _ wanted: String) -> DataSamplerError {
            DataSamplerError(.invalidConfiguration, "logRetention.\(name) is \(value): it must be \(wanted)")
        }
        guard logRetention.bytes >= 1_000_000 else { throw refuse("bytes", logRetention.bytes, "1000000 or more") }
        guard (1...3650).contains(logRetention.days) else { throw refuse("days", logRetention.days, "1 to 3650") }
        guard logRetention.verboseRingBytes == 0 || logRetention.verboseRingBytes >= 100_000 else {
            throw refuse("verboseRingBytes", logRetention.verboseRingBytes, "0, or 100000 or more")
        }
    }

    private static func check(_ name: String, _ value: Double?, _ range: SecondsRange) throws(DataSamplerError) {
        guard let value else { return }
        guard range.contains(value) else {
            throw DataSamplerError(.invalidConfiguration, "\(name) is \(value): it must be \(range)")
        }
    }

    /// Names of built-in modules must be offered; others are taken for custom ones where they look like one and like no misspelt built-in one.
    private static func check(_ setting: String, module name: String) throws(DataSamplerError) {
        if SampleModuleName(rawValue: name) != nil {
            _ = try DataSamplerModules(names: [name])
        } else if !name.contains(".") {
            // A custom module's name given in a configuration has a dot, so that a misspelt built-in one is never passed over.
            _ = try DataSamplerModules(names: [name])
        } else if let objection = CustomModuleName.objection(to: name) {
            throw DataSamplerError(.invalidConfiguration, "\(setting): \(objection)")
        }
    }

    var transportConfiguration: HTTPTransportConfiguration {
        get throws(DataSamplerError) {
            do {
                var transport = HTTPTransportConfiguration(
                    collector: try EndpointURL(collector: collectorURL), certificateAuthorityFile: certificateAuthorityFile,
                    proxy: try proxyURL.map { url throws(HTTPTransportError) in try EndpointURL(proxy: url) })
                transport.clientKeyFile = clientKeyFile
                transport.allowsPlaintext = allowsPlaintext
                return transport
            } catch {
                throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
            }
        }
    }
}
