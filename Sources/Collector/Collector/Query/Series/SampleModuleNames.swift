import WireModel

/// The sample modules by the names they have in records and in the API.
enum SampleModuleNames {
    private static let names: [(name: String, kind: WireRecordKind)] = [
        ("system", .sampleSystem), ("analytics", .sampleAnalytics), ("networkData", .sampleNetworkData),
        ("networkAdapter", .sampleNetworkAdapter), ("wlan2", .sampleWlan), ("gps", .sampleGps),
    ]

    /// The kind of a module's records; any other name is a custom module's.
    static func kind(of module: String) -> WireRecordKind {
        names.first { $0.name == module }?.kind ?? .sampleCustom
    }

    /// `nil` for custom modules, which have names of their own.
    static func name(of kind: WireRecordKind) -> String? {
        names.first { $0.kind == kind }?.name
    }
}
