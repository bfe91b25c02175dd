/// Everything that can be set: by flag (`--listen`), environment (`WS1_LISTEN`) and file (`listen:`), in this order of precedence.
enum Setting: String, CaseIterable, Sendable {
    case data
    case listen
    case tlsCertificate = "tls-certificate"
    case tlsKey = "tls-key"
    case clientCA = "client-ca"
    case allowPlaintext = "allow-plaintext"
    case logLevel = "log-level"
    case maximumBodyBytes = "maximum-body-bytes"
    case maximumInflatedBytes = "maximum-inflated-bytes"
    case maximumConnections = "maximum-connections"
    case deviceRequestsPerSecond = "device-requests-per-second"
    case logQuotaBytes = "log-quota-bytes"

    var environmentName: String { "WS1_" + rawValue.uppercased().replacing("-", with: "_") }
}
