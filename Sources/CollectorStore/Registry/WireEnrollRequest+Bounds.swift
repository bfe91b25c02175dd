import WireModel

extension WireEnrollRequest {
    /// What a device says of itself is kept up to this many bytes of each text: a list of devices must not grow by one of them.
    static let textBytes = 255

    /// With every text cut, at a character's end, to what is kept. The machine's hash is left alone: cut, two machines could be one.
    var bounded: WireEnrollRequest {
        var request = self
        request.deviceName = deviceName.cut()
        request.agentVersion = agentVersion.cut()
        request.application = application.cut()
        if hasOperatingSystem {
            request.operatingSystem.name = operatingSystem.name.cut()
            request.operatingSystem.distribution = operatingSystem.distribution.cut()
            request.operatingSystem.version = operatingSystem.version.cut()
            request.operatingSystem.kernel = operatingSystem.kernel.cut()
            request.operatingSystem.architecture = operatingSystem.architecture.cut()
        }
        return request
    }
}

extension String {
    fileprivate func cut() -> String {
        guard utf8.count > WireEnrollRequest.textBytes else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: WireEnrollRequest.textBytes)
        // A scalar ends where the next begins.
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
