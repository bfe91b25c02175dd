/// Everything that can be set: by flag (`--listen`), environment (`WS1_LISTEN`) and file (`listen:`), in this order of precedence.
enum Setting: String, CaseIterable, Sendable {
    case data
    case listen
    case tlsCertificate = "tls-certificate"
    case tlsKey = "tls-key"
    case clientCA = "client-ca"
    case deviceCertificates = "device-certificates"
    case deviceCACertificate = "device-ca-certificate"
    case deviceCAKey = "device-ca-key"
    case deviceCertificateDays = "device-certificate-days"
    case allowPlaintext = "allow-plaintext"
    case logLevel = "log-level"
    case maximumBodyBytes = "maximum-body-bytes"
    case maximumInflatedBytes = "maximum-inflated-bytes"
    case maximumConnections = "maximum-connections"
    case maximumConnectionsPerAddress = "maximum-connections-per-address"
    case deviceRequestsPerSecond = "device-requests-per-second"
    case logQuotaBytes = "log-quota-bytes"
    case logOrganizationBytes = "log-organization-bytes"
    case logDeviceApplications = "log-device-applications"
    case logApplications = "log-applications"
    case retentionStatusDays = "retention-status-days"
    case retentionEventDays = "retention-event-days"
    case retentionSampleDays = "retention-sample-days"
    case retentionStatusBytes = "retention-status-bytes"
    case retentionEventBytes = "retention-event-bytes"
    case retentionSampleBytes = "retention-sample-bytes"
    case diskNoticeBytes = "disk-notice-bytes"
    case noticeWebhook = "notice-webhook"

    /// How long, and how much of them, records are kept.
    static let ofRetention: [Setting] = [
        .retentionStatusDays, .retentionEventDays, .retentionSampleDays, .retentionStatusBytes, .retentionEventBytes, .retentionSampleBytes,
    ]

    /// What is kept of logs.
    static let ofLogQuotas: [Setting] = [
        .logQuotaBytes, .logOrganizationBytes, .logDeviceApplications, .logApplications,
    ]

    var environmentName: String { "WS1_" + rawValue.uppercased().replacing("-", with: "_") }
}
