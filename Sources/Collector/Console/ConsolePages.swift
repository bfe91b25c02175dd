/// The pages, and the way to them.
extension Console {
    static let pages: [any Page] = [
        HomePage(), DevicesPage(), DevicePage(), NoticesPage(), AuditPage(), AboutPage(),
    ]

    struct Link: Sendable {
        var path: String
        var label: String
        var role = Visitor.Role.viewer
    }

    static let sections: [(label: String, links: [Link])] = [
        ("Fleet", [Link(path: "/", label: "Home"), Link(path: "/devices", label: "Devices")]),
        (
            "Collector",
            [
                Link(path: "/notices", label: "Notices"),
                Link(path: "/audit", label: "Audit trail", role: .administrator),
                Link(path: "/about", label: "About"),
            ]
        ),
    ]
}
