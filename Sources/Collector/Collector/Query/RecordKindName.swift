import WireModel

/// Names of the kinds of records as people write them: those of telemetry.proto in kebab-case, without their prefix.
package enum RecordKindName {
    private static let names = EnumName<WireRecordKind>(
        prefix: "RECORD_KIND_",
        [
            ("beacon", .beacon), ("command-result", .commandResult), ("event", .event), ("sample-system", .sampleSystem),
            ("sample-analytics", .sampleAnalytics), ("sample-network-data", .sampleNetworkData),
            ("sample-network-adapter", .sampleNetworkAdapter), ("sample-wlan", .sampleWlan), ("sample-gps", .sampleGps),
            ("sample-custom", .sampleCustom),
        ])

    /// The name; the number where it has none.
    package static func text(_ kind: Int) -> String { WireRecordKind(rawValue: kind).map(names.name) ?? "\(kind)" }

    /// The stream that records of a kind are in; `nil` for a kind that is not known here.
    package static func stream(of kind: Int) -> StreamName? {
        switch WireRecordKind(rawValue: kind) {
        case .beacon, .commandResult: .status
        case .event: .event
        case .sampleSystem, .sampleAnalytics, .sampleNetworkData, .sampleNetworkAdapter, .sampleWlan, .sampleGps, .sampleCustom: .sample
        case .unspecified, .UNRECOGNIZED, nil: nil
        }
    }

    /// - Returns: the kind's raw value; `nil` for what is no name.
    package static func kind(_ text: String) -> Int? { (try? names.value(text, "kind"))?.rawValue }
}
