import CollectorAPI
import JSON

/// Says in words why a device's position is not known, or is not the newest. Pure.
struct LocationAbsence {
    let device: DeviceView
    /// The document of the profile that the device gets; null if it gets none.
    let profile: JSONValue

    private var newest: PositionView? { device.location?.newest }

    private var privacy: String { profile["privacy"]["position"].text ?? "drop" }

    /// What the device samples, by its newest beacon.
    private var samples: Bool? {
        device.beacon.map { $0["modules"].items.contains(.text("gps")) }
    }

    /// Whether the device says that it has nothing to sample a position from.
    private var hasFinding: Bool {
        device.beacon?["profileFindings"].items.contains(.text("module-not-sampled-gps")) ?? false
    }

    private var isChosen: Bool? {
        let modules = profile["sampling"]["modules"]
        return modules == .null ? nil : modules.items.contains(.text("gps"))
    }

    /// The reasons, as prose; empty if the newest report is a position.
    var reasons: [String] {
        switch newest?.state {
        case "position":
            return hasFinding
                ? [
                    "Its newest beacon has the finding `module-not-sampled-gps`: the device has no source of a "
                        + "position now. What follows is the last known position."
                ] : []
        case "no-fix":
            return ["The device had no fix at its newest report, so where it is now is not known."]
        case "invalid": return ["The device's newest report has coordinates that are nowhere on Earth."]
        case "withheld": return ["The device has a fix and keeps its position to itself.", dropped].compactMap { $0 }
        default: break
        }
        var reasons: [String] = []
        if isChosen == false {
            reasons.append("Its profile does not choose the module `gps`, so no position is sampled.")
        } else if samples == false {
            reasons.append(
                "Its newest beacon does not name the module `gps` among those that it samples: the profile leaves it "
                    + "out, or the machine has no receiver. `ws1agent status` tells.")
        }
        if let dropped { reasons.append(dropped) }
        return reasons.isEmpty ? ["Neither its newest samples nor its newest beacon tell where it is."] : reasons
    }

    private var dropped: String? {
        switch privacy {
        case "send", "coarsen": nil
        default:
            "Its profile drops the privacy class `position`, which is the default: the device sends no coordinates."
        }
    }
}
