import CollectorAPI

/// The pages, and the way to them.
extension Console {
    static let pages: [any ConsolePage] = [
        HomePage(), DevicesPage(), NoticesPage(), AuditPage(), AboutPage(),
        DevicePage(), DeviceTimelinePage(), DeviceSystemPage(), DeviceBalancePage(), DeviceCommandsPage(),
        DeviceManagePage(),
        LogsPage(), LogLinesPage(), LogRequestsPage(),
        TokensPage(), AddDevicePage(), OrganizationsPage(), OrganizationPage(), LogQuotasPage(), AssignmentsPage(),
        StoragePage(),
        JobsPage(), JobPage(),
        ProfilesPage(), ProfilePage(), ProfileEditPage(),
        BalancePage(), CertificatesPage(), RunbookPage(),
        ExplorePage(), AnalyticsPage(), EventPage(),
    ]

    struct Link: Sendable {
        var path: String
        var label: String
        var role = PersonRole.viewer
        /// Only for people of all organizations.
        var isOfCollector = false
    }

    static let sections: [(label: String, links: [Link])] = [
        (
            "Fleet",
            [
                Link(path: "/", label: "Home"), Link(path: "/devices", label: "Devices"),
                Link(path: "/jobs", label: "Jobs"),
            ]
        ),
        (
            "Data",
            [Link(path: "/explore", label: "Explore"), Link(path: "/analytics", label: "SDK Analytics")]
        ),
        (
            "Logs",
            [Link(path: "/logs", label: "App Logs"), Link(path: "/request-logs", label: "Request Logs")]
        ),
        (
            "Administration",
            [
                Link(path: "/add-device", label: "Add devices", role: .administrator),
                Link(path: "/profiles", label: "Profiles"),
                Link(path: "/organizations", label: "Organizations"),
                Link(path: "/tokens", label: "Tokens", role: .administrator),
                Link(path: "/storage", label: "Storage", role: .administrator, isOfCollector: true),
            ]
        ),
        (
            "Collector",
            [
                Link(path: "/notices", label: "Notices"),
                Link(path: "/balance", label: "Balance"),
                Link(path: "/certificates", label: "Certificates", role: .administrator, isOfCollector: true),
                Link(path: "/audit", label: "Audit trail", role: .administrator),
                Link(path: "/runbook", label: "Runbook"),
                Link(path: "/about", label: "About"),
            ]
        ),
    ]
}
