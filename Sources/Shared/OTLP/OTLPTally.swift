/// A rule that an item of a request can break, or that makes a receiver ignore a part of it. Most are the protocol's.
package enum OTLPRule: String, Sendable, CaseIterable {
    // The item is rejected.
    case duplicateAttribute
    case eventNameTooLong
    case metricWithoutName
    case timeMissing
    case temporalityMissing
    case valueMissing
    case bucketCounts
    case boundsNotIncreasing
    case countMismatch
    case sumWithoutCount
    case quantiles
    // The item is rejected by the receiver that keeps it.
    case tooLarge
    case deviceRevoked
    case deviceDeleted
    case refusedByStore
    case notRecorded
    // The item is kept, and a part of it is ignored.
    case identifierLength
    case exemplarWithoutValue
    case profilesReference
    case lineCut

    /// Whether the item stays.
    package var isWarning: Bool {
        switch self {
        case .identifierLength, .exemplarWithoutValue, .profilesReference, .lineCut: true
        default: false
        }
    }

    /// What is wrong, and what a sender does about it.
    var text: String {
        switch self {
        case .duplicateAttribute: "an attribute key is there twice; keys must be unique"
        case .eventNameTooLong: "event_name has more than \(OTLPLogRecord.maximumEventName) characters"
        case .metricWithoutName: "the metric has no name"
        case .timeMissing: "time_unix_nano is 0; a data point must have its time"
        case .temporalityMissing: "aggregation_temporality is neither DELTA nor CUMULATIVE; set it"
        case .valueMissing: "the data point has no value, and no flag that says so"
        case .bucketCounts: "bucket_counts must have one item more than explicit_bounds, or both none"
        case .boundsNotIncreasing: "explicit_bounds must increase strictly"
        case .countMismatch: "count is not the sum of the counts of all buckets"
        case .sumWithoutCount: "count is 0, and sum is not"
        case .quantiles: "quantiles must increase strictly, from 0 to 1"
        case .tooLarge: "it takes more than 256 KiB, with its resource or alone; make it smaller"
        case .deviceRevoked: "an administrator of the collector revoked the device that the resource is"
        case .deviceDeleted: "an administrator of the collector deleted the device that the resource is"
        case .refusedByStore: "the collector's store does not take it; its log says why"
        case .notRecorded: "the agent may not record it now; `ws1agent status` says why"
        case .identifierLength: "trace_id must have 16 bytes and span_id 8, not all zero; others are left out"
        case .exemplarWithoutValue: "an exemplar has no value; it is left out"
        case .profilesReference: "string_value_strindex is for profiles only; the value is left out"
        case .lineCut: "it is longer than a line of the agent's log may be; its end is left out"
        }
    }
}

/// What became of a request's items under the rules.
package struct OTLPTally: Sendable, Equatable {
    private struct Finding: Sendable, Equatable {
        var count: Int
        /// Where the first one is, in the schema's names.
        var first: String
    }

    /// Items in the request.
    package private(set) var items = 0
    /// Items that were rejected.
    package private(set) var rejected = 0
    private var findings: [OTLPRule: Finding] = [:]

    package init() {}

    /// How many items broke the rule; of warnings, how many places.
    package func count(of rule: OTLPRule) -> Int { findings[rule]?.count ?? 0 }

    package mutating func add(items count: Int) { items += count }

    package mutating func reject(_ rule: OTLPRule, items count: Int = 1, at place: @autoclosure () -> String) {
        rejected += count
        note(rule, count, place)
    }

    package mutating func warn(_ rule: OTLPRule, at place: @autoclosure () -> String) { note(rule, 1, place) }

    private mutating func note(_ rule: OTLPRule, _ count: Int, _ place: () -> String) {
        guard count > 0 else { return }
        if findings[rule] == nil {
            findings[rule] = Finding(count: count, first: place())
        } else {
            findings[rule]?.count += count
        }
    }

    /// The text for whoever operates the sender; empty if there is nothing to say. It has no value of the request.
    package func message(_ signal: OTLPSignal) -> String {
        guard !findings.isEmpty else { return "" }
        var text =
            rejected > 0
            ? "\(rejected) of \(items) \(signal.items) were rejected and must not be sent again."
            : "All \(signal.items) were accepted, with warnings."
        for rule in OTLPRule.allCases {
            guard let finding = findings[rule] else { continue }
            text += " \(finding.count)\(rule.isWarning ? " (warning)" : ""): \(rule.text); first at \(finding.first)."
        }
        return text
    }
}
