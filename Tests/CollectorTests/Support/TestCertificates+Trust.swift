import NIOSSL

extension TestCertificates {
    /// A client that trusts the authority and shows the certificate.
    static func trust(_ authority: String, as certificate: (pem: String, key: String)? = nil) throws -> TLSConfiguration
    {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
        if let certificate {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.pem.utf8)).map {
                .certificate($0)
            }
            configuration.privateKey = .privateKey(
                try NIOSSLPrivateKey(bytes: Array(certificate.key.utf8), format: .pem))
        }
        return configuration
    }
}
