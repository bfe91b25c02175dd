import WireModel

extension Problem {
    static let certificateRequired = Problem(
        status: 401, code: Code.certificateRequired, title: "Certificate required",
        detail:
            "This collector serves devices only with a client certificate that it issued. Enroll again with a certificate signing request.",
        scope: .device)

    /// Superseded by a later one, or of a time that this collector was restored to before.
    static let certificateUnknown = Problem(
        status: 401, code: Code.certificateUnknown, title: "Certificate unknown",
        detail:
            "The device's client certificate is not, or no longer, one that is accepted. Enroll again with a certificate signing request.",
        scope: .device)

    static let certificateExpired = Problem(
        status: 401, code: Code.certificateExpired, title: "Certificate expired",
        detail: "The device's client certificate has expired. Enroll again with a certificate signing request.", scope: .device)

    static let certificateOfAnother = Problem(
        status: 403, code: "certificate-mismatch", title: "Certificate of another device",
        detail: "The client certificate is another device's than the credential.", scope: .device)

    /// - Parameter code: `csr-...`.
    static func signingRequest(_ code: String, _ detail: String) -> Problem {
        Problem(
            status: 400, code: code, title: "Certificate signing request refused",
            detail: "The certificate signing request cannot be used. \(detail) Nothing was changed.", scope: .device)
    }
}
