/// Certificates made for these tests alone, good for a hundred years; nothing else trusts them, so their keys are no
/// secrets.
enum TestCertificates {
    /// Signed `server` and `client`.
    static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBijCCAS+gAwIBAgIUOKc2opFj0hul+WcLZxguYRI1P3IwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTIxMDg0OTE5WhgPMjEy
        NjEwMjgwODQ5MTlaMBkxFzAVBgNVBAMMDlRlc3QgYXV0aG9yaXR5MFkwEwYHKoZI
        zj0CAQYIKoZIzj0DAQcDQgAE8mCBuplYUaKCpPrRKApNi7DwWUfPt0mivHLkmrXu
        Q9BcV1okeMwLR+ceg2Ws+SUXm8rycWRiKy+Q1ZKnxqUndKNTMFEwHQYDVR0OBBYE
        FBBAX5O3k4LPe99egUWBvs3h/imMMB8GA1UdIwQYMBaAFBBAX5O3k4LPe99egUWB
        vs3h/imMMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAPTISXtd
        j8rj32FthkeygRcjUIfWn1ecGefL4Nl7isSfAiEAtP2m4AbsBzLg+dUZFgSSHB37
        aC8biU+6maptm8L1eZ4=
        -----END CERTIFICATE-----
        """
    /// The certificate of `localhost` and 127.0.0.1.
    static let server = """
        -----BEGIN CERTIFICATE-----
        MIIBjzCCATWgAwIBAgIUZibn8lHwoov0ypm1kMMPBbhz57cwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTIxMDg0OTE5WhgPMjEy
        NjEwMjgwODQ5MTlaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEG
        CCqGSM49AwEHA0IABKqwDJmbnY9nRR5Vz3F1lRAh39WtfShErc6DgkIrSj8uZ+7P
        0/SQoVf89KoCJcGI65/cwHHk2/5R5oEvAm9DXsujXjBcMBoGA1UdEQQTMBGCCWxv
        Y2FsaG9zdIcEfwAAATAdBgNVHQ4EFgQUbZRhs+iCHI7fIJwLaIA51vyxEJ8wHwYD
        VR0jBBgwFoAUEEBfk7eTgs97316BRYG+zeH+KYwwCgYIKoZIzj0EAwIDSAAwRQIg
        Iy2Ner5JxCnrbQ9dDiQGwha2wWmN10yLNfZtF+rP2uUCIQDT9PvIAXBwYeANRrjW
        5Ob14dprmW6/nOUV5fIcMtyzYA==
        -----END CERTIFICATE-----
        """
    static let serverKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgf4O9x3WiLBBf9ZKc
        L0rPAI1gOolO7cdeOmtkzk8lZfuhRANCAASqsAyZm52PZ0UeVc9xdZUQId/VrX0o
        RK3Og4JCK0o/Lmfuz9P0kKFX/PSqAiXBiOuf3MBx5Nv+UeaBLwJvQ17L
        -----END PRIVATE KEY-----
        """
    static let client = """
        -----BEGIN CERTIFICATE-----
        MIIBJTCBzQIUZibn8lHwoov0ypm1kMMPBbhz57gwCgYIKoZIzj0EAwIwGTEXMBUG
        A1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTIxMDg0OTE5WhgPMjEyNjEwMjgw
        ODQ5MTlaMBExDzANBgNVBAMMBmRldmljZTBZMBMGByqGSM49AgEGCCqGSM49AwEH
        A0IABGCoxLk2EdZcbZRFGDezfSoRqBhqqoGHu0//0rSSCNCvxM3VCrBaofY4O4c/
        d1aFMFCO2i2J6AOF5BAShvYpTRQwCgYIKoZIzj0EAwIDRwAwRAIgPc78ElkpLZit
        FXr83AXKR6XQQBg0FbwLLBRXbStTI6wCIBcMhoo/IbWzNY/N0aef+epEjPkX3zt2
        aMDPXUKioiBw
        -----END CERTIFICATE-----
        """
    static let clientKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBaooOvm92NCrgYdM
        dEQ7W+yz3QBIX0vroppiva6yx3+hRANCAARgqMS5NhHWXG2URRg3s30qEagYaqqB
        h7tP/9K0kgjQr8TN1QqwWqH2ODuHP3dWhTBQjtotiegDheQQEob2KU0U
        -----END PRIVATE KEY-----
        """
    /// Signed by itself: no collector trusts it.
    static let stranger = """
        -----BEGIN CERTIFICATE-----
        MIIBdzCCAR2gAwIBAgIUAMp7BLn/OB+Jxw1qOEwHcnleYmEwCgYIKoZIzj0EAwIw
        EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTIxMDg0OTE5WhgPMjEyNjEwMjgwODQ5
        MTlaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
        bfYWbbSnq/6WsMOso7ODLlMGA/kNI3Z/fQBM/P9SmPcet+9j+rIpSPBgfShwvV8Z
        iPvdDxaXAsrlxvkrqSR2Y6NTMFEwHQYDVR0OBBYEFCZalbHVsakfe8S7d4z0H9W+
        RbU/MB8GA1UdIwQYMBaAFCZalbHVsakfe8S7d4z0H9W+RbU/MA8GA1UdEwEB/wQF
        MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgFKOwrjG7thgiLcAdUbHQcaCBuJEnTYf3
        udLN8u/FficCIQCAwYwafmfGTY5VR7TMJAv1kV0UEvXDRnH1N2DaDh+a4w==
        -----END CERTIFICATE-----
        """
    static let strangerKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9oAOFflx3m9NWn8n
        qpbHQHPwtfM+3Uf3dRkyEjWKnlChRANCAARt9hZttKer/paww6yjs4MuUwYD+Q0j
        dn99AEz8/1KY9x6372P6silI8GB9KHC9XxmI+90PFpcCyuXG+SupJHZj
        -----END PRIVATE KEY-----
        """
}
