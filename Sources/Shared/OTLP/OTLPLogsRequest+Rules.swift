extension OTLPLogRecord {
    /// Characters of `event_name`.
    package static let maximumEventName = 256

    /// The rule that the record breaks; `nil`: it is good. A record without a time is good: its receipt says when it
    /// was observed.
    package var brokenRule: OTLPRule? {
        // A character has at most four bytes, so most names need not be counted.
        if eventName.utf8.count > Self.maximumEventName, eventName.unicodeScalars.count > Self.maximumEventName {
            return .eventNameTooLong
        }
        return attributes.hasDuplicateKey || (hasBody && body.hasDuplicateKey) ? .duplicateAttribute : nil
    }

    fileprivate var hasProfilesReference: Bool {
        attributes.hasProfilesReference || (hasBody && body.hasProfilesReference)
    }
}

extension OTLPLogsRequest: OTLPRequest {
    package static let signal = OTLPSignal.logs

    package mutating func removeForbidden() -> OTLPTally {
        var tally = OTLPTally()
        for place in resourceLogs.indices {
            Self.removeForbidden(&resourceLogs[place], "resource_logs[\(place)]", &tally)
        }
        return tally
    }

    private static func removeForbidden(_ group: inout OTLPResourceLogs, _ place: String, _ tally: inout OTLPTally) {
        let isRefused = group.hasResource && group.resource.attributes.hasDuplicateKey
        for position in group.scopeLogs.indices {
            let scopePlace = { "\(place).scope_logs[\(position)]" }
            let count = group.scopeLogs[position].logRecords.count
            tally.add(items: count)
            let scope = group.scopeLogs[position].scope
            if isRefused || scope.attributes.hasDuplicateKey {
                tally.reject(
                    .duplicateAttribute, items: count, at: isRefused ? "\(place).resource" : "\(scopePlace()).scope")
                group.scopeLogs[position].logRecords = []
            } else {
                removeForbidden(&group.scopeLogs[position].logRecords, scopePlace, &tally)
            }
        }
    }

    private static func removeForbidden(
        _ records: inout [OTLPLogRecord], _ place: () -> String, _ tally: inout OTLPTally
    ) {
        var kept: [OTLPLogRecord]?
        for index in records.indices {
            if let rule = records[index].brokenRule {
                tally.reject(rule, at: "\(place()).log_records[\(index)]")
                kept = kept ?? Array(records[..<index])
                continue
            }
            if records[index].hasInvalidIdentifier {
                tally.warn(.identifierLength, at: "\(place()).log_records[\(index)]")
                records[index].removeInvalidIdentifiers()
            }
            if records[index].hasProfilesReference {
                tally.warn(.profilesReference, at: "\(place()).log_records[\(index)]")
                records[index].attributes.removeProfilesReferences()
                if records[index].hasBody { records[index].body.removeProfilesReferences() }
            }
            kept?.append(records[index])
        }
        if let kept { records = kept }
    }
}
