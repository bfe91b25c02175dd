import WireModel

extension WireEnrollRequest {
    /// What a device says of itself is kept up to this many bytes of each text: a list of devices must not grow by one of them.
    static let textBytes = 255

    /// With every text cut, at a character's end, to what is kept. The machine's hash is left alone: cut, two machines could be one.
    var bounded: WireEnrollRequest {
        var request = self
        request.deviceName = deviceName.cut(toBytes: Self.textBytes)
        request.agentVersion = agentVersion.cut(toBytes: Self.textBytes)
        request.application = application.cut(toBytes: Self.textBytes)
        if hasOperatingSystem {
            request.operatingSystem.name = operatingSystem.name.cut(toBytes: Self.textBytes)
            request.operatingSystem.distribution = operatingSystem.distribution.cut(toBytes: Self.textBytes)
            request.operatingSystem.version = operatingSystem.version.cut(toBytes: Self.textBytes)
            request.operatingSystem.kernel = operatingSystem.kernel.cut(toBytes: Self.textBytes)
            request.operatingSystem.architecture = operatingSystem.architecture.cut(toBytes: Self.textBytes)
        }
        return request
    }
}
