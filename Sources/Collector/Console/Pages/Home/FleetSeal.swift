import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// The collector's knowledge of whether every record is there, in words: by the last balance of all devices, and by the
/// last verification of all that is stored.
///
/// What is unknown or old is never shown as good.
struct FleetSeal {
    enum State: String {
        case good, bad, unknown
    }

    /// An older result says little of today. The collector makes a balance every few minutes, and needs longer for
    /// large fleets.
    private static let staleSeconds: Int64 = 86_400
    /// People run a verification, perhaps once a week.
    private static let staleVerificationSeconds: Int64 = 30 * 86_400

    var state: State
    var title: String
    /// Its scope and age, and what else should be known.
    var facts: [String] = []

    /// - Parameter now: microseconds since 1970.
    static func balance(_ answer: FleetBalanceView, now: Int64) -> FleetSeal {
        guard let balance = answer.balance, let age = age(balance.completedAt, now) else {
            return FleetSeal(
                state: .unknown, title: "Whether records are lost is not known yet",
                facts: [
                    "No balance of all devices was completed since the collector started. "
                        + (answer.running
                            ? "The first one is being made." : "The first one begins within seconds.")
                ])
        }
        let title =
            "\(DisplayText.count(Double(balance.lost))) lost, \(DisplayText.count(Double(balance.doubled))) doubled, "
            + "\(DisplayText.count(Double(balance.waiting))) waiting on devices"
        let scope =
            DisplayText.counted(balance.devices, "device") + ", " + DisplayText.counted(balance.streams, "stream")
            + (balance.files.map { ", " + DisplayText.counted($0, "record file") } ?? "")
        var facts = ["It covers \(scope), and was completed \(DisplayText.duration(Double(age))) ago."]
        if balance.streamsLeftOut > 0 {
            facts.append(
                "\(DisplayText.counted(balance.streamsLeftOut, "stream")) left out, because their devices report "
                    + "impossible counts.")
        }
        let unreadable = balance.unreadableFiles?.count ?? 0
        if unreadable > 0 {
            facts.append("Record files that could not be read, so that their records are not known: \(unreadable).")
        }
        let isClean = balance.lost == 0 && balance.doubled == 0
        if !balance.intact || !isClean {
            if isClean, facts.count == 1 { facts.append("Record files contradict the balance.") }
            return FleetSeal(state: .bad, title: title, facts: facts)
        }
        guard age <= staleSeconds else {
            facts.append("That is too old to be sure of today.")
            return FleetSeal(state: .unknown, title: title, facts: facts)
        }
        guard balance.streams > 0 else {
            facts.append("No record has come yet, so there is nothing to account for.")
            return FleetSeal(state: .unknown, title: title, facts: facts)
        }
        return FleetSeal(state: .good, title: title, facts: facts)
    }

    /// - Parameter now: microseconds since 1970.
    static func verification(_ answer: FleetBalanceView, now: Int64) -> FleetSeal {
        guard let verification = answer.verification, let age = age(verification.completedAt, now) else {
            return FleetSeal(
                state: .unknown, title: "Never verified",
                facts: [
                    """
                    The command ws1collector verify reads all that is stored and checks every hash. It may run beside \
                    the collector.
                    """
                ])
        }
        let covered =
            verification.scope.map { scope in
                "It read \(DisplayText.counted(scope.records, "record")) in "
                    + "\(DisplayText.counted(scope.files, "file")) and "
                    + "\(DisplayText.counted(scope.chunks, "log chunk")), and was"
            } ?? "It was"
        let fact = "\(covered) completed \(DisplayText.duration(Double(age))) ago."
        guard verification.intact else {
            return FleetSeal(
                state: .bad, title: "Verified, \(DisplayText.counted(verification.findingCount, "fault")) found",
                facts: [fact])
        }
        return age <= staleVerificationSeconds
            ? FleetSeal(state: .good, title: "Verified, nothing found", facts: [fact])
            : FleetSeal(state: .unknown, title: "Verified long ago, nothing found", facts: [fact])
    }

    /// A refusal of the API is nothing known.
    static func refused(_ problem: Problem) -> FleetSeal {
        FleetSeal(state: .unknown, title: "The balance is not known", facts: [problem.detail ?? problem.title])
    }

    var values: JSONValue {
        [
            "state": .text(state.rawValue),
            "label": .text(state == .good ? "good" : state == .bad ? "fault" : "unknown"),
            "title": .text(title), "facts": .array(facts.map { .text($0) }),
        ]
    }

    /// The age in seconds; `nil` without a time. A time after now is as old as now.
    private static func age(_ time: String, _ now: Int64) -> Int64? {
        Timestamp.parse(time).map { max(0, now - $0) / 1_000_000 }
    }
}
