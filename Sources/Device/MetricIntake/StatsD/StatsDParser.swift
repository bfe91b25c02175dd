/// One value of a StatsD packet.
struct StatsDUpdate: Equatable, Sendable {
    enum Change: Equatable, Sendable {
        /// Added to a counter, with what the sample rate left out.
        case count(Double)
        case gauge(Double)
        /// A gauge with a sign: it changes by this.
        case gaugeChange(Double)
        /// - Parameter weight: the events for which it stands, 1 or more by the sample rate.
        case timing(Double, weight: Double, unit: String)
        case member([UInt8])
    }

    var key: SeriesKey
    var change: Change
}

/// Reads packets of StatsD, with the tags of DogStatsD. Pure.
///
///     page.views:1|c|@0.1|#site:shop,beta      counter, of which a tenth is sent; attributes site=shop, beta=
///     queue:7|g   queue:-2|g                   gauge: set, and changed by its sign
///     request:12.5|ms   size:3:9|h   wait:2|d  timer, histogram, distribution; several values in one
///     user:42|s                                set
///
/// Lines are separated by line feeds. Events (`_e{`) and service checks (`_sc|`) of DogStatsD are no metrics and are
/// invalid here. Fields that are not known, such as a container (`c:`) or a time (`T`), are left out: the sample has
/// its own time.
enum StatsDParser {
    static let maximumMemberBytes = 1_024
    /// Values of one line.
    static let maximumValues = 1_000

    /// - Parameter take: the values of the packet in their order, or why a line cannot be taken in.
    static func parse(
        _ packet: some BidirectionalCollection<UInt8>, _ take: (Result<StatsDUpdate, LineObjection>) -> Void
    ) {
        for line in packet.split(separator: UInt8(ascii: "\n")) {
            // A line feed before the end of the text on Windows.
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if line.isEmpty { continue }
            do throws(LineObjection) {
                for update in try updates(line) { take(.success(update)) }
            } catch {
                take(.failure(error))
            }
        }
    }

    /// All values of a line, or none.
    private static func updates(_ line: some Collection<UInt8>) throws(LineObjection) -> [StatsDUpdate] {
        let fields = line.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
        guard fields.count >= 2, let colon = fields[0].firstIndex(of: UInt8(ascii: ":")) else {
            throw LineObjection("it is not NAME:VALUE|TYPE")
        }
        let name = String(decoding: fields[0][..<colon], as: UTF8.self)
        let text = fields[0][fields[0].index(after: colon)...]
        var weight = 1.0
        var attributes: [String: String] = [:]
        for field in fields.dropFirst(2) {
            switch field.first {
            case UInt8(ascii: "@"):
                guard let rate = DecimalNumber.parse(field.dropFirst()), rate > 0, rate <= 1, (1 / rate).isFinite else {
                    throw LineObjection("its sample rate is not above 0 and at most 1")
                }
                weight = 1 / rate
            case UInt8(ascii: "#"): try add(field.dropFirst(), to: &attributes)
            default: break
            }
        }
        if let objection = MetricBounds.objection(name: name, attributes: attributes) {
            throw LineObjection(objection)
        }
        let key = SeriesKey(name, attributes)
        return try changes(String(decoding: fields[1], as: UTF8.self), text, weight).map {
            StatsDUpdate(key: key, change: $0)
        }
    }

    private static func changes(
        _ type: String, _ text: some Collection<UInt8>, _ weight: Double
    ) throws(LineObjection) -> [StatsDUpdate.Change] {
        // The members of a set are texts, and may have colons.
        if type == "s" {
            guard text.count <= maximumMemberBytes else {
                throw LineObjection("a member of a set has more than \(maximumMemberBytes) bytes")
            }
            return [.member(Array(text))]
        }
        let values = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard values.count <= maximumValues else { throw LineObjection("it has more than \(maximumValues) values") }
        var changes: [StatsDUpdate.Change] = []
        changes.reserveCapacity(values.count)
        for text in values {
            guard let value = DecimalNumber.parse(text) else { throw LineObjection("its value is not a number") }
            switch type {
            case "c":
                guard (value * weight).isFinite else { throw LineObjection("its value is too large for its rate") }
                changes.append(.count(value * weight))
            case "g":
                let isChange = text.first == UInt8(ascii: "+") || text.first == UInt8(ascii: "-")
                changes.append(isChange ? .gaugeChange(value) : .gauge(value))
            case "ms": changes.append(.timing(value, weight: weight, unit: "ms"))
            case "h", "d": changes.append(.timing(value, weight: weight, unit: ""))
            default: throw LineObjection("its type is none of c, g, ms, h, d and s")
            }
        }
        return changes
    }

    /// `NAME:VALUE` or `NAME`, separated by commas. The last one of a name counts.
    private static func add(
        _ tags: some Collection<UInt8>, to attributes: inout [String: String]
    ) throws(LineObjection) {
        for tag in tags.split(separator: UInt8(ascii: ",")) {
            guard attributes.count <= MetricBounds.attributes else {
                throw LineObjection("there may be at most \(MetricBounds.attributes) attributes")
            }
            let end = tag.firstIndex(of: UInt8(ascii: ":"))
            let name = String(decoding: end.map { tag[..<$0] } ?? tag[...], as: UTF8.self)
            let value = end.map { String(decoding: tag[tag.index(after: $0)...], as: UTF8.self) } ?? ""
            attributes[name] = value
        }
    }
}
