/// What a transport needs to know about the collector and the way to it.
package struct HTTPTransportConfiguration: Sendable {
    package var collector: EndpointURL
    /// PEM file of the only certificate authorities to trust; `nil`: those of the system.
    package var certificateAuthorityFile: String?
    /// PEM file of the key of the client certificate that the device may be given; `nil`: it shows none.
    package var clientKeyFile: String?
    /// An HTTP proxy; `nil`: direct.
    package var proxy: EndpointURL?
    /// How long an unused connection stays open. Longer than a short transmit interval, so that such a device does not connect
    /// anew for every transmit, and short enough that a device with long intervals holds nothing at the collector in between.
    package var keepAlive: Duration = .seconds(75)
    /// For establishing a connection, TLS included.
    package var connectTimeout: Duration = .seconds(10)

    package init(collector: EndpointURL, certificateAuthorityFile: String? = nil, proxy: EndpointURL? = nil) {
        self.collector = collector
        self.certificateAuthorityFile = certificateAuthorityFile
        self.proxy = proxy
    }
}
