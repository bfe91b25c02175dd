/// Certificates made for these tests alone, good for a hundred years; nothing else trusts them, so their keys are no
/// secrets.
package enum ServerCertificates {
    package struct Server: Sendable {
        package let certificate: String
        package let key: String
        /// SHA-256 of the subject public key info, hexadecimal, as openssl computes it.
        package let pin: String
    }

    /// Signed both servers.
    package static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBkDCCATegAwIBAgIUQJhCiQcSI1AgK8CkedaMuxQwG7owCgYIKoZIzj0EAwIw
        HTEbMBkGA1UEAwwSUGluIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyMTEwMzk1OVoY
        DzIxMjYxMDI4MTAzOTU5WjAdMRswGQYDVQQDDBJQaW4gdGVzdCBhdXRob3JpdHkw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASN2nuRb9uVg0l0m8WI3nVDW3jh6Cdh
        3hcsvGFghG3RQT1Y01JKjiD+mINgSP3E5QUyFqka3aCr+JEyHSrFIyRfo1MwUTAd
        BgNVHQ4EFgQUtujfcA0JaQoraiQk2UIqxVpdQjkwHwYDVR0jBBgwFoAUtujfcA0J
        aQoraiQk2UIqxVpdQjkwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBE
        AiAvhlqF82ACPqRKM73bTT/OnbqJxpuFBnLVj85fQAuRuQIgBXwExqfskEP3fwjg
        KEOCRipcDM5ixS4MN/IQ1K8joms=
        -----END CERTIFICATE-----
        """
    /// The certificate of `localhost` and 127.0.0.1.
    package static let one = Server(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBkzCCATmgAwIBAgIUeeMQf9Odv0xSJTU1PYTQtj/JDdEwCgYIKoZIzj0EAwIw
            HTEbMBkGA1UEAwwSUGluIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyMTEwMzk1OVoY
            DzIxMjYxMDI4MTAzOTU5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjO
            PQIBBggqhkjOPQMBBwNCAAQk1EFvpdtmP1k9NSvoQ0YcGd1vv8opPH6ToUPtqSNE
            0Mr5E1lD0VVNkYxZRiCKysyhzTxcJjhjm72J0oOhzLdfo14wXDAaBgNVHREEEzAR
            gglsb2NhbGhvc3SHBH8AAAEwHQYDVR0OBBYEFKJd6pL3lDQrx1Ym7H/9vyzSE9hf
            MB8GA1UdIwQYMBaAFLbo33ANCWkKK2okJNlCKsVaXUI5MAoGCCqGSM49BAMCA0gA
            MEUCIHshpK5JydyZUDxKlwv1gelGyaY1Wt+BgxXGtXnsc0x2AiEAgdLRXPSlOM/O
            YG7uNN9tzpkZwTji10hi75FdVMgJf2E=
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYGBK+eolc3yfAjWH
            wRnkxIeequup8IR8tpqFPSLnn+2hRANCAAQk1EFvpdtmP1k9NSvoQ0YcGd1vv8op
            PH6ToUPtqSNE0Mr5E1lD0VVNkYxZRiCKysyhzTxcJjhjm72J0oOhzLdf
            -----END PRIVATE KEY-----
            """, pin: "763bdcdf862bb58d43868109fdd7e79c6e5e6645eaf8251b3370f932fea04858")
    /// The same names, another key.
    package static let two = Server(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBlDCCATmgAwIBAgIUeeMQf9Odv0xSJTU1PYTQtj/JDdIwCgYIKoZIzj0EAwIw
            HTEbMBkGA1UEAwwSUGluIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyMTEwMzk1OVoY
            DzIxMjYxMDI4MTAzOTU5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjO
            PQIBBggqhkjOPQMBBwNCAAR1vbl6fvFngRI+CMbv6mMLg+rvk9DUDxx2Iq1S70Sa
            M6xNXYQCLabbsTL6z6izi2zd2ctoQh+zR5EtA2pcetKUo14wXDAaBgNVHREEEzAR
            gglsb2NhbGhvc3SHBH8AAAEwHQYDVR0OBBYEFP/wjndwO9BkvXY1JedByPn4cqWA
            MB8GA1UdIwQYMBaAFLbo33ANCWkKK2okJNlCKsVaXUI5MAoGCCqGSM49BAMCA0kA
            MEYCIQCobN6RugomcqCf9hb7DeCmQs20NxA0ic8JUu0okaLasgIhAKLyUwmXgxgx
            V+X78PpLDnTqeRR6tgdn2KLfa2t0kTK6
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgMFQ89FukvA2y+oZa
            6WxFcl3WwoW2F+K3ZMt7ifkSbhehRANCAAR1vbl6fvFngRI+CMbv6mMLg+rvk9DU
            Dxx2Iq1S70SaM6xNXYQCLabbsTL6z6izi2zd2ctoQh+zR5EtA2pcetKU
            -----END PRIVATE KEY-----
            """, pin: "19b9f2f4d80659f61dea1ae99c82931f94f0114dec18d0220961b20c0182677a")
}
