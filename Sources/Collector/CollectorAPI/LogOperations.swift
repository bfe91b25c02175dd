extension APIOperation where Answer == Page<ChunkView> {
    package static var listLogs: Self { Self("GET", "/api/v1/logs") }
}

extension APIOperation where Answer == LogDeletionView {
    package static var deleteLogs: Self { Self("DELETE", "/api/v1/logs") }
}

extension APIOperation where Answer == LogLinesView {
    package static var listLogLines: Self { Self("GET", "/api/v1/logs/lines") }
}

extension APIOperation where Answer == LogContextView {
    /// `listLogLines` with the parameter `around`.
    package static var listLogLinesAround: Self { Self("GET", "/api/v1/logs/lines") }
}

extension APIOperation where Answer == LogHistogramView {
    package static var countLogLines: Self { Self("GET", "/api/v1/logs/histogram") }
}

extension APIOperation where Answer == LogFacetsView {
    package static var listLogFacets: Self { Self("GET", "/api/v1/logs/facets") }
}

extension APIOperation where Answer == Page<LogUsageView> {
    package static var getLogUsage: Self { Self("GET", "/api/v1/logs/usage") }
}

extension APIOperation where Answer == Page<LogQuotaView> {
    package static func listLogQuotas(_ organization: String) -> Self { quotas("GET", organization) }

    package static func putLogQuota(_ organization: String, _ application: String) -> Self {
        quotas("PUT", organization, application)
    }

    package static func deleteLogQuota(_ organization: String, _ application: String) -> Self {
        quotas("DELETE", organization, application)
    }

    package static func putAgentLogQuota(_ organization: String) -> Self { quotas("PUT", organization) }

    package static func deleteAgentLogQuota(_ organization: String) -> Self { quotas("DELETE", organization) }

    private static func quotas(_ method: String, _ segments: String...) -> Self {
        Self(method, (["/api/v1/log-quotas"] + segments.map(\.percentEncoded)).joined(separator: "/"))
    }
}

extension APIOperation where Answer == Page<UploadView> {
    package static func listUploads(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/uploads")
    }
}
