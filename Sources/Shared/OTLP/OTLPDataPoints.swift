/// What the five kinds of data points have in common.
package protocol OTLPDataPoint: Sendable {
    var attributes: [OTLPKeyValue] { get set }
    var timeUnixNano: UInt64 { get }
    var flags: UInt32 { get }
    /// The rule of its own kind that the point breaks; `nil`: it is good.
    var brokenRuleOfKind: OTLPRule? { get }
}

/// A point that can have exemplars.
protocol OTLPExemplarPoint: OTLPDataPoint {
    var exemplars: [OTLPExemplar] { get set }
}

extension OTLPDataPoint {
    /// Whether the point says that there is no value at its time, as Prometheus' stale marker does.
    package var hasNoRecordedValue: Bool { flags & 1 != 0 }

    package var brokenRule: OTLPRule? {
        if timeUnixNano == 0 { return .timeMissing }
        return attributes.hasDuplicateKey ? .duplicateAttribute : brokenRuleOfKind
    }
}

extension OTLPNumberPoint: OTLPExemplarPoint {
    package var brokenRuleOfKind: OTLPRule? { value == nil && !hasNoRecordedValue ? .valueMissing : nil }
}

extension OTLPHistogramPoint: OTLPExemplarPoint {
    package var brokenRuleOfKind: OTLPRule? {
        if bucketCounts.count != (bucketCounts.isEmpty ? 0 : explicitBounds.count + 1) { return .bucketCounts }
        if bucketCounts.isEmpty, !explicitBounds.isEmpty { return .bucketCounts }
        // A bound that is not a number is not less than any other.
        if zip(explicitBounds, explicitBounds.dropFirst()).contains(where: { !($0 < $1) }) {
            return .boundsNotIncreasing
        }
        if explicitBounds.contains(where: \.isNaN) { return .boundsNotIncreasing }
        if !bucketCounts.isEmpty, bucketCounts.exactSum != count { return .countMismatch }
        return count == 0 && hasSum && sum != 0 && !hasNoRecordedValue ? .sumWithoutCount : nil
    }
}

extension OTLPExponentialPoint: OTLPExemplarPoint {
    package var brokenRuleOfKind: OTLPRule? {
        let sums = [zeroCount, positive.bucketCounts.exactSum, negative.bucketCounts.exactSum]
        if sums.contains(nil) || sums.compactMap(\.self).exactSum != count { return .countMismatch }
        return count == 0 && hasSum && sum != 0 && !hasNoRecordedValue ? .sumWithoutCount : nil
    }
}

extension OTLPSummaryPoint: OTLPDataPoint {
    package var brokenRuleOfKind: OTLPRule? {
        let quantiles = quantileValues.map(\.quantile)
        guard quantiles.allSatisfy({ (0...1).contains($0) }),
            zip(quantiles, quantiles.dropFirst()).allSatisfy(<)
        else { return .quantiles }
        return count == 0 && sum != 0 && !hasNoRecordedValue ? .sumWithoutCount : nil
    }
}

extension [UInt64] {
    /// `nil` if it is greater than any number.
    fileprivate var exactSum: UInt64? {
        var total: UInt64 = 0
        for count in self {
            let (sum, isOver) = total.addingReportingOverflow(count)
            if isOver { return nil }
            total = sum
        }
        return total
    }
}
