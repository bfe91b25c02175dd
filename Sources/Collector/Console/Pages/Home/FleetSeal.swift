import JSON
import TelemetryBasics

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

    /// - Parameters:
    ///   - answer: of `GET /api/v1/balance`.
    ///   - now: microseconds since 1970.
    static func balance(_ answer: JSONValue, now: Int64) -> FleetSeal {
        let balance = answer["balance"]
        guard balance != .null, let age = age(balance, now) else {
            return FleetSeal(
                state: .unknown, title: "Whether records are lost is not known yet",
                facts: [
                    "No balance of all devices was completed since the collector started. "
                        + (answer["running"].isTrue
                            ? "The first one is being made." : "The first one begins within seconds.")
                ])
        }
        let title =
            "\(balance.countText("lost")) lost, \(balance.countText("doubled")) doubled, "
            + "\(balance.countText("waiting")) waiting on devices"
        let scope =
            balance.counted("devices", "device") + ", " + balance.counted("streams", "stream")
            + (balance["files"] == .null ? "" : ", " + balance.counted("files", "record file"))
        var facts = ["It covers \(scope), and was completed \(DisplayText.duration(Double(age))) ago."]
        if balance["streamsLeftOut"].integer ?? 0 > 0 {
            facts.append(
                "\(balance.counted("streamsLeftOut", "stream")) left out, because their devices report impossible counts."
            )
        }
        let unreadable = balance["unreadableFiles"].items.count
        if unreadable > 0 {
            facts.append("Record files that could not be read, so that their records are not known: \(unreadable).")
        }
        let isClean = balance["lost"].integer == 0 && balance["doubled"].integer == 0
        if !balance["intact"].isTrue || !isClean {
            if isClean, facts.count == 1 { facts.append("Record files contradict the balance.") }
            return FleetSeal(state: .bad, title: title, facts: facts)
        }
        guard age <= staleSeconds else {
            facts.append("That is too old to be sure of today.")
            return FleetSeal(state: .unknown, title: title, facts: facts)
        }
        guard balance["streams"].integer ?? 0 > 0 else {
            facts.append("No record has come yet, so there is nothing to account for.")
            return FleetSeal(state: .unknown, title: title, facts: facts)
        }
        return FleetSeal(state: .good, title: title, facts: facts)
    }

    /// - Parameter answer: of `GET /api/v1/balance`.
    static func verification(_ answer: JSONValue, now: Int64) -> FleetSeal {
        let verification = answer["verification"]
        guard verification != .null, let age = age(verification, now) else {
            return FleetSeal(
                state: .unknown, title: "Never verified",
                facts: [
                    "The command ws1collector verify reads all that is stored and checks every hash. It may run beside the collector."
                ])
        }
        let scope = verification["scope"]
        let covered =
            scope == .null
            ? "It was"
            : "It read \(scope.counted("records", "record")) in \(scope.counted("files", "file")) and "
                + "\(scope.counted("chunks", "log chunk")), and was"
        let fact = "\(covered) completed \(DisplayText.duration(Double(age))) ago."
        guard verification["intact"].isTrue else {
            return FleetSeal(
                state: .bad, title: "Verified, \(verification.counted("findingCount", "fault")) found", facts: [fact])
        }
        return age <= staleVerificationSeconds
            ? FleetSeal(state: .good, title: "Verified, nothing found", facts: [fact])
            : FleetSeal(state: .unknown, title: "Verified long ago, nothing found", facts: [fact])
    }

    /// A refusal of the API is nothing known.
    static func refused(_ problem: APIProblem) -> FleetSeal {
        FleetSeal(state: .unknown, title: "The balance is not known", facts: [problem.detail])
    }

    var values: JSONValue {
        [
            "state": .text(state.rawValue),
            "label": .text(state == .good ? "good" : state == .bad ? "fault" : "unknown"),
            "title": .text(title), "facts": .array(facts.map { .text($0) }),
        ]
    }

    /// The age in seconds; `nil` without a time. A time after now is as old as now.
    private static func age(_ value: JSONValue, _ now: Int64) -> Int64? {
        value["completedAt"].text.flatMap { Timestamp.parse($0) }.map { max(0, now - $0) / 1_000_000 }
    }
}

extension JSONValue {
    /// A count of the API for people; "?" if it is absent.
    func countText(_ name: String) -> String { self[name].number.map(DisplayText.count) ?? "?" }

    /// A count with the name of what is counted.
    func counted(_ name: String, _ noun: String) -> String {
        self[name].number == nil ? "? \(noun)s" : DisplayText.counted(self[name], noun)
    }
}
