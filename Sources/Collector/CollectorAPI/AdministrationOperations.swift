extension APIOperation where Answer == Page<TokenView> {
    package static var listTokens: Self { Self("GET", "/api/v1/tokens") }
}

extension APIOperation where Answer == TokenView {
    package static var createToken: Self { Self("POST", "/api/v1/tokens") }
}

extension APIOperation where Answer == SignInCodeView {
    package static var createSignInCode: Self { Self("POST", "/api/v1/sign-in-codes") }
}

extension APIOperation where Answer == NoAnswer {
    package static func revokeToken(_ token: String) -> Self {
        Self("DELETE", "/api/v1/tokens/\(token.percentEncoded)")
    }
}

extension APIOperation where Answer == Page<OrganizationView> {
    package static var listOrganizations: Self { Self("GET", "/api/v1/organizations") }
}

extension APIOperation where Answer == OrganizationView {
    package static var createOrganization: Self { Self("POST", "/api/v1/organizations") }

    package static func getOrganization(_ organization: String) -> Self {
        Self("GET", "/api/v1/organizations/\(organization.percentEncoded)")
    }
}

extension APIOperation where Answer == AboutView {
    package static var getAbout: Self { Self("GET", "/api/v1/about") }
}

extension APIOperation where Answer == Page<AuditView> {
    package static var listAudit: Self { Self("GET", "/api/v1/audit") }
}

extension APIOperation where Answer == NoticesView {
    package static var listNotices: Self { Self("GET", "/api/v1/notices") }
}

extension APIOperation where Answer == NoticeView {
    package static func muteNotice(_ notice: String) -> Self {
        Self("POST", "/api/v1/notices/\(notice.percentEncoded)/mute")
    }

    package static func unmuteNotice(_ notice: String) -> Self {
        Self("POST", "/api/v1/notices/\(notice.percentEncoded)/unmute")
    }
}

extension APIOperation where Answer == RetentionView {
    package static var getRetention: Self { Self("GET", "/api/v1/retention") }
}

extension APIOperation where Answer == ReleaseView {
    package static var releaseRetention: Self { Self("POST", "/api/v1/retention/release") }
}

extension APIOperation where Answer == PurgeView {
    package static var purgeRecords: Self { Self("POST", "/api/v1/records/purge") }
}

extension APIOperation where Answer == CapacityView {
    package static var getCapacity: Self { Self("GET", "/api/v1/capacity") }
}

extension APIOperation where Answer == CertificatesView {
    package static var getCertificates: Self { Self("GET", "/api/v1/certificates") }
}
