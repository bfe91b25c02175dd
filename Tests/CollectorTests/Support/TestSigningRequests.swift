import Foundation

/// Requests for certificates as `openssl req -new` made them, and the keys of those that tests connect with. Made for
/// these tests alone; the keys are no secrets.
enum TestSigningRequests {
    /// P-256; asks to be an authority, for another device's name and for a host's.
    static let first = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIIBajCCARACAQAwMTEfMB0GA1UEAwwWSSBhbSB0aGUgYWRtaW5pc3RyYXRvcjEO
        MAwGA1UECgwFb3RoZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATi65iexSSe
        HMev1r9UYfHE6+TnSUSOanMSUsPp2eXHbsOGA54Nb5bueaLoTM9vU8VdBAIx6RXB
        rpXrPVaTQQuIoH0wewYJKoZIhvcNAQkOMW4wbDBMBgNVHREERTBDhjN1cm46d3Mx
        OmRldmljZTowMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDGCDGV2
        aWwuZXhhbXBsZTAPBgNVHRMBAf8EBTADAQH/MAsGA1UdDwQEAwICBDAKBggqhkjO
        PQQDAgNIADBFAiEAhnfRLk9SIB2Fe5XI28Vu2PmGjV/L39Lk61IjvSpkzTUCIEm6
        LrEy96oqW7UX53nYMNx9T5//lJhmG5Q26Ifly6eK
        -----END CERTIFICATE REQUEST-----
        """
    static let firstKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoUnzfPiH3iQuK7Yz
        2iPLBeZTpcJQ4mIcFMiedcfClRChRANCAATi65iexSSeHMev1r9UYfHE6+TnSUSO
        anMSUsPp2eXHbsOGA54Nb5bueaLoTM9vU8VdBAIx6RXBrpXrPVaTQQuI
        -----END PRIVATE KEY-----
        """
    /// P-256, another key; asks for the same.
    static let second = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIIBajCCARACAQAwMTEfMB0GA1UEAwwWSSBhbSB0aGUgYWRtaW5pc3RyYXRvcjEO
        MAwGA1UECgwFb3RoZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASe/L3u1H/t
        aSoaYzYKKMR477KUcjQcqrXnjKtj9ZwhkCoMODrCptECM/S9He9NGOM+wYgaqhLW
        1HBZPnv0hkdroH0wewYJKoZIhvcNAQkOMW4wbDBMBgNVHREERTBDhjN1cm46d3Mx
        OmRldmljZTowMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDGCDGV2
        aWwuZXhhbXBsZTAPBgNVHRMBAf8EBTADAQH/MAsGA1UdDwQEAwICBDAKBggqhkjO
        PQQDAgNIADBFAiEAohoSJLS/DG4U/vMu4DBciFFeKp5rPwNUtEY+gempJ7ECIBlg
        zIacP6i2q+r36ck6Lq7pIhxttmc3c5RFPSHlMJH4
        -----END CERTIFICATE REQUEST-----
        """
    static let secondKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9MC6AROUgrVT2ozz
        wlAs1EvXg6QsyJhZsUwPryJuN+OhRANCAASe/L3u1H/taSoaYzYKKMR477KUcjQc
        qrXnjKtj9ZwhkCoMODrCptECM/S9He9NGOM+wYgaqhLW1HBZPnv0hkdr
        -----END PRIVATE KEY-----
        """
    static let p384 = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIIBCDCBjwIBADAQMQ4wDAYDVQQDDAVraW9zazB2MBAGByqGSM49AgEGBSuBBAAi
        A2IABIdsXJN7czlUY+n5mCySzXX7rGbFUsHNUQciF6ucXDRnomhMLrgl7ct2sZCA
        Bu2eAFG5Y4MLN6Ss72LwARwQiTJOs2xa0k8cs5LQRlhr7/ddHmK30Z96/XR66Wrw
        wlySfKAAMAoGCCqGSM49BAMCA2gAMGUCMC2zQhje65sgYIZM2pZbdzTI0LwKZ9xC
        L/z74XmA2Lxz50hkA7YqqgTegKZIqXhxXgIxAOwo1W/hqV9mstgyhnAZS13ifzyw
        Xg4KIEpgBg1HITzFkoDdBwuLJSbWatAvRBouug==
        -----END CERTIFICATE REQUEST-----
        """
    static let ed25519 = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIGPMEMCAQAwEDEOMAwGA1UEAwwFa2lvc2swKjAFBgMrZXADIQDOYHvExHy7k2Jw
        L1M0N4Mh97rICdAm558VsM6LZlEDOKAAMAUGAytlcANBAEKR3KtoWhHr0E1t5lxA
        nn+NgixsK/lhR5d5kh+JMjRi5hUfuAr0nQn7TWHf+ZGqN+w2SSOFSDIm6EZTAvCg
        ngM=
        -----END CERTIFICATE REQUEST-----
        """
    static let rsa2048 = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIICVTCCAT0CAQAwEDEOMAwGA1UEAwwFa2lvc2swggEiMA0GCSqGSIb3DQEBAQUA
        A4IBDwAwggEKAoIBAQCeo6QwZSa4mpsMe+IQ+BF0/JoIlnwTfmyZC5nKm429ua3W
        J075DdldNbBba9J9YYKW3cODmKH3XcEQBWNYw47ZJ3y+a+nK0JN/Wbw1O6u7lX/t
        UDoBX8Jt9XCbufjXm2LvPh68uJI5LjEQdZ8aTNRPhigcj1tdlyH9gWL8xJ767j9f
        FQl1wLdsChzmI90HvIDGLkHO+CYMtJrlqm3+EZDQAjasboyvadDWNHfWhxWd9m1n
        QdqY8uXOt8cR/rrOZwxO7hagGh58HCUkU/9lvgQLtwIG1I3kWVMlGQlkwx8Rdck+
        IvfvAxK8z/S4OiUT2chl5TiCR8VELXTicY3qJg6VAgMBAAGgADANBgkqhkiG9w0B
        AQsFAAOCAQEAI+atit4POEPatQgq5KQaNt6chevzWfS0dLz044L2wQVKSgOl+67B
        fbnl7etWOKp6MR9xjxYvF37QgoBIkgDaf0YLNOq02OARY1UcfGyvS9+ZWDDGn/yr
        ZCeFDOH1Bcy3XoHwKb4ep2l77+ZU3nN76DFVFjfihdeZmr/Unq/fXO5wZtNqahb3
        yv5mbNmz578ieQouJs4fEYS7tWK7IrkTpbU9sft3N7egG/Qyp6aIrSNmYnlZOICW
        8RCB9goyTN+xiH90N3p/Z3QLGbi9+nAMzh2QYiw0vQduGSk4nznbPw4HY41Dk5EL
        10rxUN+teHEKXcS6bDyzZ/Ho0s/rFsB4eA==
        -----END CERTIFICATE REQUEST-----
        """
    static let p521 = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIIBUzCBtQIBADAQMQ4wDAYDVQQDDAVraW9zazCBmzAQBgcqhkjOPQIBBgUrgQQA
        IwOBhgAEAXrC4sdXPxFtNXypnWNO47tkieP0Cz+KZ7mXIqIZidm+E3XKo+Stt7Nm
        ktDe7bO7jD9BGwjY1RRZDTE8jzNAzG6gABqn1h9fHHeiJQkpAGA9qdDIXIl5cQyq
        e4R0AljcXwnQ4n4GJ5QxhQg4yUD68vDIORqSTBElo4JpTdSeh0OWFgROoAAwCgYI
        KoZIzj0EAwIDgYwAMIGIAkIBtI1Z5xspoIpvkoCfjCj6Oz/tGaNFWA/BgFN+pQxu
        9pZetIpZeJoCJ44B6JUKMj0G2XJ/I3jzP6u7+tGLMkKSwiMCQgCU9864fx0hHhSa
        IAUU7N9mf8Yk/h1Ozl3UOyKtorKyrj342tVR+7FMzeEUluLJqScjvyjjHHF9NJSU
        GEoP/zA2sg==
        -----END CERTIFICATE REQUEST-----
        """
    static let rsa1024 = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIIBTzCBuQIBADAQMQ4wDAYDVQQDDAVraW9zazCBnzANBgkqhkiG9w0BAQEFAAOB
        jQAwgYkCgYEAqNU2iGD7thM8PNkg/GaaxzEcfD1npr990RcM2lkuqXCK2oJtwgoD
        ykIlPK2LEmQ6upNRUgCMBibRoH6Mjj0rU6YbWN/bKnBbtwZz4YrSpP7LQ6VSHoQp
        TMcR0BYzXeesoX30K0cjckJDthbrhazjacQMGMEM0b9MdqAxH/fe3UkCAwEAAaAA
        MA0GCSqGSIb3DQEBCwUAA4GBAA+0jNnIUHoCONK/mzwXgYa+jD9cLwUHwcJzPM8D
        C2wUJtf+Lc25Ci0kJq6l06q05LUBpFFYAs+0o1YMxz3bJjWBrt66C065ZLD3XNdX
        EWxm7ZeBAzw5jSePS4/JPbSpu7JLA8jJw7IK1eKhRN5o/qAp0Dl8guaYnnmQtRn5
        8yas
        -----END CERTIFICATE REQUEST-----
        """
    static let k256 = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIHIMG8CAQAwEDEOMAwGA1UEAwwFa2lvc2swVjAQBgcqhkjOPQIBBgUrgQQACgNC
        AAS9lYMyhln3bYzpHXQqL7TeZGMzKutWIwrUYdpPjqZqiEGxx+K1wf4bu2FjnzJB
        esVJ7qlSnXUsNbJYvcE9GuNjoAAwCgYIKoZIzj0EAwIDSQAwRgIhAI1XfGLtC78m
        fBaUFLllIcjJcyWC5J4/scMlONBrUeQbAiEApwPiOw5vIxuFtqgFcf1RfTUI8U1N
        wjpy0Uky7eAIQPk=
        -----END CERTIFICATE REQUEST-----
        """
    /// RSA-2048, signed with SHA-1.
    static let sha1 = """
        -----BEGIN CERTIFICATE REQUEST-----
        MIICVTCCAT0CAQAwEDEOMAwGA1UEAwwFa2lvc2swggEiMA0GCSqGSIb3DQEBAQUA
        A4IBDwAwggEKAoIBAQCeo6QwZSa4mpsMe+IQ+BF0/JoIlnwTfmyZC5nKm429ua3W
        J075DdldNbBba9J9YYKW3cODmKH3XcEQBWNYw47ZJ3y+a+nK0JN/Wbw1O6u7lX/t
        UDoBX8Jt9XCbufjXm2LvPh68uJI5LjEQdZ8aTNRPhigcj1tdlyH9gWL8xJ767j9f
        FQl1wLdsChzmI90HvIDGLkHO+CYMtJrlqm3+EZDQAjasboyvadDWNHfWhxWd9m1n
        QdqY8uXOt8cR/rrOZwxO7hagGh58HCUkU/9lvgQLtwIG1I3kWVMlGQlkwx8Rdck+
        IvfvAxK8z/S4OiUT2chl5TiCR8VELXTicY3qJg6VAgMBAAGgADANBgkqhkiG9w0B
        AQUFAAOCAQEAYWfOYN+rtVzt9iJT25VCJ6rZy9V0MoPp30+PGIwaCxRD/hWSaOag
        T1A/elAE9AZA624OAvEJHSGU9RBM2WV0HLbjBbpYQl6k/v4Se6CBCsrgEoq/Ab0p
        1bimGyQvVAIhg0pibKBAQTc07UzdKLrPA7r1NkA3Rm2LsWo/HzOfL50mUXx1RwVU
        VmKt9DgaQoKODS9j/s3Z5bg1x0B836gFlqxgYDxPh6gUfqR1DJaovv+X2tkpDLlF
        sjCgFmk4uhXDo4S+TzEC4eiORBC9P/sHdFGKv7iJQ3C2NOfwRcFu0SoRl9ShMSEZ
        UjkEGSbHPsayJub53evzm8xzhm+3xKuQmQ==
        -----END CERTIFICATE REQUEST-----
        """

    /// The request as a device sends it.
    static func der(_ pem: String) -> Data {
        Data(base64Encoded: pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()) ?? Data()
    }
}
