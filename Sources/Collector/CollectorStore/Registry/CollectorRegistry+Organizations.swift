extension CollectorRegistry {
    /// By name.
    package func organizations() async throws(StoreError) -> [OrganizationRow] {
        try await database.organizations()
    }

    /// With a privacy key of its own and the profile of a new organization.
    /// - Parameters:
    ///   - name: 1 to 63 letters, digits, `.`, `_` and `-`, the first a letter or digit: it stands in paths and file names.
    ///   - actor: who does it, for the audit trail.
    /// - Throws: `.invalid` for another name, `.conflict` where it is there already.
    package func createOrganization(_ name: String, by actor: AuditActor = .commandLine) async throws(StoreError) {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: false
            }
        }
        guard isPlain, (1...63).contains(name.utf8.count),
            ![UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains(name.utf8.first)
        else {
            throw StoreError(
                .invalid, "an organization's name is 1 to 63 letters, digits, \".\", \"_\" and \"-\", and begins with a letter or digit.")
        }
        try await database.createOrganization(name, by: actor)
    }
}
