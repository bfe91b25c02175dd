/// What a transport needs to know about the collector and the way to it.
package struct HTTPTransportConfiguration: Sendable {
    package var collector: EndpointURL
    /// PEM file of the only certificate authorities to trust; `nil`: those of the system.
    package var certificateAuthorityFile: String?
    /// PEM file of the key of the client certificate that the device may be given; `nil`: it shows none.
    package var clientKeyFile: String?
    /// An HTTP proxy; `nil`: direct.
    package var proxy: EndpointURL?
    /// Whether plain HTTP may leave this machine. Everybody on the way can then read and change what is sent, credentials among it.
    package var allowsPlaintext = false
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

    /// Checks what can be checked without a connection: whether plain HTTP is meant, and the file of authorities.
    package func check() throws(HTTPTransportError) {
        try checkPlaintext()
        _ = try HTTPTransport.tls(self)
    }

    /// A proxy on another machine is beyond this one, even on the way to a collector here. A proxy here may forward to anywhere.
    package func checkPlaintext() throws(HTTPTransportError) {
        guard collector.scheme == .http, !allowsPlaintext else { return }
        let hops = [collector, proxy].compactMap { $0 }
        guard let hop = hops.first(where: { !$0.isLoopback }) else { return }
        let what = hop == collector ? "the collector \(collector)" : "the proxy \(hop) on the way to \(collector)"
        throw HTTPTransportError(
            .plaintext,
            "\(what) is on another machine, and plain http:// lets everybody in between read credentials and data. Use https://; or allow it "
                + "with --allow-plaintext (WS1_ALLOW_PLAINTEXT, allowPlaintext in the agent's file, allowsPlaintext in a program) where the "
                + "network itself is protected")
    }
}
