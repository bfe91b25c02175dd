/// The catalog: every field of every message that a device sends, with its privacy class.
///
/// Bodies of records go through ``PrivacyFilter`` by it. The other messages (enrollment, batches, closes, uploads) are here so that no
/// field of theirs is sent without somebody having decided on its class.
package enum FieldClasses {
    /// Messages that leave the device as they are, each with all messages inside it.
    package static let requests = [enrollRequest, rotateRequest, batchRequest, record, closeRequest, uploadManifest, completeUpload]

    /// The message that the body of a record of this kind holds; `nil` for kinds this version does not make.
    package static func body(of kind: WireRecordKind) -> MessageFields? {
        switch kind {
        case .beacon: beacon
        case .commandResult: commandResult
        case .event: event
        case .sampleSystem: systemSample
        case .sampleAnalytics: analyticsSample
        case .sampleNetworkData: networkDataSample
        case .sampleNetworkAdapter: networkAdapterSample
        case .sampleWlan: wlanSample
        case .sampleGps: gpsSample
        case .sampleCustom: customSample
        case .unspecified, .UNRECOGNIZED: nil
        }
    }
}
