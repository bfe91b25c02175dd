import WireModel

/// A device's positions, thinned out by time: the newest of each step. It holds at most one report of each step, so its
/// size does not depend on the number of records. Pure.
///
/// Reports may come in any order.
struct LocationTrack {
    let window: SeriesWindow
    private var steps: [Int: Step] = [:]

    private struct Step {
        var newest: LocationReport?
        /// Of the reports that have no position: the newest one, and the times of all.
        var newestWithout: LocationReport?
        var firstWithout: Int64?
        /// The first known time without a position after the newest position. Reports that come neither in the order
        /// of time nor in its reverse may give a later one.
        var lostAt: Int64?
    }

    init(window: SeriesWindow) { self.window = window }

    mutating func add(_ report: LocationReport) {
        guard let place = window.bucket(of: report.time) else { return }
        var step = steps[place] ?? Step()
        if report.state == .position {
            if step.newest.map({ $0.time < report.time }) ?? true {
                step.newest = report
                if let lostAt = step.lostAt, lostAt <= report.time {
                    step.lostAt = step.newestWithout.flatMap { $0.time > report.time ? $0.time : nil }
                }
            }
        } else {
            if step.newestWithout.map({ $0.time < report.time }) ?? true { step.newestWithout = report }
            step.firstWithout = min(step.firstWithout ?? .max, report.time)
            if report.time > step.newest?.time ?? .min { step.lostAt = min(step.lostAt ?? .max, report.time) }
        }
        steps[place] = step
    }

    /// The reports, newest first: the newest position of each step, and for a step without a position its newest
    /// report. `gap` says whether the device had no position at some time between the position before it and this one,
    /// and `lostAt` when it had none later in the same step.
    var reports: [(report: LocationReport, gap: Bool, lostAt: Int64?)] {
        var reports: [(report: LocationReport, gap: Bool, lostAt: Int64?)] = []
        var isLost = false
        for (_, step) in steps.sorted(by: { $0.key < $1.key }) {
            if let newest = step.newest {
                reports.append((newest, isLost || (step.firstWithout ?? .max) < newest.time, step.lostAt))
                isLost = (step.newestWithout?.time ?? .min) > newest.time
            } else if let without = step.newestWithout {
                reports.append((without, false, nil))
                isLost = true
            }
        }
        return reports.reversed()
    }
}
