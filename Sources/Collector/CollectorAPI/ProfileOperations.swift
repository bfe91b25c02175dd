extension APIOperation where Answer == ProfileView {
    package static func getProfile(_ organization: String) -> Self { profile("GET", organization) }

    package static func putProfile(_ organization: String) -> Self { profile("PUT", organization) }

    package static func getApplicationProfile(_ organization: String, _ application: String) -> Self {
        profile("GET", organization, application)
    }

    package static func putApplicationProfile(_ organization: String, _ application: String) -> Self {
        profile("PUT", organization, application)
    }

    package static func rollBackProfile(_ organization: String) -> Self {
        Self("POST", "/api/v1/profile-revisions/\(organization.percentEncoded)/rollback")
    }

    private static func profile(_ method: String, _ segments: String...) -> Self {
        Self(method, (["/api/v1/profiles"] + segments.map(\.percentEncoded)).joined(separator: "/"))
    }
}

extension APIOperation where Answer == Page<ProfileView> {
    package static func listProfileRevisions(_ organization: String) -> Self {
        Self("GET", "/api/v1/profile-revisions/\(organization.percentEncoded)")
    }
}

extension APIOperation where Answer == ProfileDiffView {
    package static func diffProfiles(_ organization: String) -> Self {
        Self("GET", "/api/v1/profile-revisions/\(organization.percentEncoded)/diff")
    }
}

extension APIOperation where Answer == Page<ProfileAdoptionView> {
    package static func profileAdoption(_ organization: String) -> Self {
        Self("GET", "/api/v1/profile-revisions/\(organization.percentEncoded)/adoption")
    }
}

extension APIOperation where Answer == ProfileValidationView {
    package static func validateProfile(_ organization: String) -> Self {
        Self("POST", "/api/v1/profile-revisions/\(organization.percentEncoded)/validate")
    }
}
