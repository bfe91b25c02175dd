import WireModel

/// The collectors of one store on this machine, and a token with which any number of devices enroll.
struct CollectorAddresses: Sendable {
    var ports: [UInt16]
    var enrollmentToken: String

    /// The port for a device.
    func port(of device: Int) -> UInt16 { ports[device % ports.count] }

    /// A new device's credential.
    func enroll(_ name: String, over connection: HTTPConnection) throws -> String {
        try CollectorProcess.enroll(name, token: enrollmentToken, over: connection)
    }
}
