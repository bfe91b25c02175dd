import WireModel

/// Which notices of silent devices begin and end, of one organization. Pure.
///
/// Devices are told of one by one, up to 20 a day: as many as somebody reads, and a receiver of notices is not flooded. Beyond that, one notice
/// tells of all further ones together and how many they are, so that a herd - a site without power, a network that is cut - is one notice and
/// not ten thousand. It ends when half as many as that are left, which are then told of one by one, or when none is.
///
/// What was told is known from the notices themselves, so a restart tells nothing twice.
struct SilencePlan: Equatable {
    /// Of an organization, lasting or begun within a day.
    static let toldOneByOne = 20
    /// A device that goes silent again within this time goes on with its notice: one that comes and goes is not posted again and again.
    static let dayMicroseconds: Int64 = 86_400_000_000
    /// The same of many together; shorter, as it is another outage.
    static let manyAgainMicroseconds: Int64 = 3_600_000_000

    /// What notices tell already.
    struct Told: Equatable {
        /// Devices whose notice lasts.
        var lasting: Set<DeviceID> = []
        /// Those, and devices whose notice began within a day.
        var recent: Set<DeviceID> = []
        /// Of the notice that tells of many; `nil`: none lasts.
        var many: String?
    }

    enum Many: Equatable {
        case unchanged
        case tell(Int)
        case end
    }

    var begin: Set<DeviceID> = []
    var end: Set<DeviceID> = []
    var many = Many.unchanged

    /// - Parameters:
    ///   - silent: all that are now.
    ///   - isSettled: whether the collector has listened for long enough to say so (`Listening`); until then notices only end.
    static func of(silent: Set<DeviceID>, told: Told, isSettled: Bool) -> SilencePlan {
        var plan = SilencePlan(end: told.lasting.subtracting(silent))
        let rest = silent.subtracting(told.lasting)
        guard isSettled else {
            if told.many != nil, rest.isEmpty { plan.many = .end }
            return plan
        }
        let hasRoom = rest.subtracting(told.recent).count <= max(0, toldOneByOne - told.recent.count)
        if told.many == nil ? hasRoom : rest.isEmpty || (hasRoom && rest.count <= toldOneByOne / 2) {
            plan.begin = rest
            if told.many != nil { plan.many = .end }
        } else {
            plan.many = .tell(rest.count)
        }
        return plan
    }

    static func detail(ofMany count: Int) -> String {
        "\(count) further devices are silent: more than the \(toldOneByOne) a day that are told of one by one. `GET /api/v1/devices?state=silent` lists "
            + "them. Where they went silent together, look at what lies between them and the collector."
    }
}
