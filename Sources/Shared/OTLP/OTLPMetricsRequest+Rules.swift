extension OTLPMetric {
    /// Data points of whatever kind.
    package var pointCount: Int {
        switch data {
        case .gauge(let gauge): gauge.dataPoints.count
        case .sum(let sum): sum.dataPoints.count
        case .histogram(let histogram): histogram.dataPoints.count
        case .exponentialHistogram(let histogram): histogram.dataPoints.count
        case .summary(let summary): summary.dataPoints.count
        case nil: 0
        }
    }

    /// The rule that the metric breaks with all of its points; `nil`: it is good.
    package var brokenRule: OTLPRule? {
        if name.isEmpty { return .metricWithoutName }
        if metadata.hasDuplicateKey { return .duplicateAttribute }
        let temporality: OTLPTemporality =
            switch data {
            case .sum(let sum): sum.aggregationTemporality
            case .histogram(let histogram): histogram.aggregationTemporality
            case .exponentialHistogram(let histogram): histogram.aggregationTemporality
            case .gauge, .summary, nil: .cumulative
            }
        return temporality == .delta || temporality == .cumulative ? nil : .temporalityMissing
    }

    fileprivate mutating func removeAllPoints() { data = nil }

    fileprivate mutating func removeForbidden(_ place: () -> String, _ tally: inout OTLPTally) {
        // A list of points is copied only if one of them changes.
        switch data {
        case .gauge(var gauge):
            gauge.dataPoints.removeForbidden(place, &tally)
            data = .gauge(gauge)
        case .sum(var sum):
            sum.dataPoints.removeForbidden(place, &tally)
            data = .sum(sum)
        case .histogram(var histogram):
            histogram.dataPoints.removeForbidden(place, &tally)
            data = .histogram(histogram)
        case .exponentialHistogram(var histogram):
            histogram.dataPoints.removeForbidden(place, &tally)
            data = .exponentialHistogram(histogram)
        case .summary(var summary):
            summary.dataPoints.removeBrokenPoints(place, &tally)
            data = .summary(summary)
        case nil: break
        }
    }
}

extension OTLPScopeMetrics {
    /// Changes the attributes of all data points and exemplars, and those of the metrics themselves.
    package mutating func changeAttributes(_ change: ([OTLPKeyValue]) -> [OTLPKeyValue]) {
        for place in metrics.indices { metrics[place].changeAttributes(change) }
    }
}

extension OTLPMetric {
    fileprivate mutating func changeAttributes(_ change: ([OTLPKeyValue]) -> [OTLPKeyValue]) {
        metadata = change(metadata)
        switch data {
        case .gauge(var gauge):
            gauge.dataPoints.changeExemplars(change)
            data = .gauge(gauge)
        case .sum(var sum):
            sum.dataPoints.changeExemplars(change)
            data = .sum(sum)
        case .histogram(var histogram):
            histogram.dataPoints.changeExemplars(change)
            data = .histogram(histogram)
        case .exponentialHistogram(var histogram):
            histogram.dataPoints.changeExemplars(change)
            data = .exponentialHistogram(histogram)
        case .summary(var summary):
            summary.dataPoints.changeAttributes(change)
            data = .summary(summary)
        case nil: break
        }
    }
}

extension Array where Element: OTLPDataPoint {
    fileprivate mutating func changeAttributes(_ change: ([OTLPKeyValue]) -> [OTLPKeyValue]) {
        for place in indices { self[place].attributes = change(self[place].attributes) }
    }
}

extension Array where Element: OTLPExemplarPoint {
    /// Those of the points too.
    fileprivate mutating func changeExemplars(_ change: ([OTLPKeyValue]) -> [OTLPKeyValue]) {
        changeAttributes(change)
        for place in indices {
            for position in self[place].exemplars.indices {
                self[place].exemplars[position].filteredAttributes = change(
                    self[place].exemplars[position].filteredAttributes)
            }
        }
    }
}

extension OTLPMetricsRequest: OTLPRequest {
    package static let signal = OTLPSignal.metrics

    package mutating func removeForbidden() -> OTLPTally {
        var tally = OTLPTally()
        for place in resourceMetrics.indices {
            Self.removeForbidden(&resourceMetrics[place], "resource_metrics[\(place)]", &tally)
        }
        return tally
    }

    private static func removeForbidden(_ group: inout OTLPResourceMetrics, _ place: String, _ tally: inout OTLPTally) {
        let isRefused = group.hasResource && group.resource.attributes.hasDuplicateKey
        for position in group.scopeMetrics.indices {
            let scope = group.scopeMetrics[position].scope
            let isScopeRefused = !isRefused && scope.attributes.hasDuplicateKey
            for index in group.scopeMetrics[position].metrics.indices {
                let scopePlace = { "\(place).scope_metrics[\(position)]" }
                let metricPlace = { "\(scopePlace()).metrics[\(index)]" }
                let count = group.scopeMetrics[position].metrics[index].pointCount
                tally.add(items: count)
                let rule =
                    isRefused || isScopeRefused
                    ? OTLPRule.duplicateAttribute : group.scopeMetrics[position].metrics[index].brokenRule
                guard let rule else {
                    group.scopeMetrics[position].metrics[index].removeForbidden(metricPlace, &tally)
                    continue
                }
                tally.reject(
                    rule, items: count,
                    at: isRefused ? "\(place).resource" : isScopeRefused ? "\(scopePlace()).scope" : metricPlace())
                group.scopeMetrics[position].metrics[index].removeAllPoints()
            }
        }
    }
}

extension Array where Element: OTLPDataPoint {
    fileprivate mutating func removeBrokenPoints(_ place: () -> String, _ tally: inout OTLPTally) {
        var kept: [Element]?
        for index in indices {
            if let rule = self[index].brokenRule {
                tally.reject(rule, at: "\(place()).data_points[\(index)]")
                kept = kept ?? Array(self[..<index])
                continue
            }
            if self[index].attributes.hasProfilesReference {
                tally.warn(.profilesReference, at: "\(place()).data_points[\(index)]")
                self[index].attributes.removeProfilesReferences()
            }
            kept?.append(self[index])
        }
        if let kept { self = kept }
    }
}

extension Array where Element: OTLPExemplarPoint {
    fileprivate mutating func removeForbidden(_ place: () -> String, _ tally: inout OTLPTally) {
        removeBrokenPoints(place, &tally)
        for index in indices where !self[index].exemplars.isEmpty {
            if self[index].exemplars.contains(where: { $0.value == nil }) {
                tally.warn(.exemplarWithoutValue, at: "\(place()).data_points[\(index)].exemplars")
                self[index].exemplars.removeAll { $0.value == nil }
            }
            if self[index].exemplars.contains(where: \.hasInvalidIdentifier) {
                tally.warn(.identifierLength, at: "\(place()).data_points[\(index)].exemplars")
                for position in self[index].exemplars.indices {
                    self[index].exemplars[position].removeInvalidIdentifiers()
                }
            }
        }
    }
}
