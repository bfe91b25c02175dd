import WireModel

/// How a certificate names its device: a URI among its alternative names.
struct DeviceName: Sendable {
    private static let prefix = "urn:ws1:device:"

    let device: DeviceID

    init(_ device: DeviceID) { self.device = device }

    /// `nil` for another kind of name.
    init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let device = DeviceID(String(text.dropFirst(Self.prefix.count))) else { return nil }
        self.device = device
    }

    var text: String { "\(Self.prefix)\(device)" }
}
