import Console
import MetricCatalog
import WireModel

/// The metrics of devices that Prometheus gets, chosen by name.
package struct DeviceMetricChoice: Sendable, Equatable {
    /// Why names are no choice, in words for people.
    package struct Refusal: Error, Equatable {
        package let message: String
    }

    /// The most names. Each metric is at least one series of every device.
    package static let maximumNames = 500
    /// Chooses all metrics of built-in modules that Prometheus can take.
    package static let all = "all"
    /// What stands before the name of a metric that only custom samples have.
    package static let customPrefix = "custom:"
    /// What stands before the name of a metric that resources of OTLP have.
    package static let otlpPrefix = "otlp:"

    /// The names as given.
    package let names: [String]
    /// Names of the built-in modules' metrics.
    let builtIn: Set<String>
    /// Names of the metrics of custom samples.
    let custom: Set<String>
    /// Names of the metrics of resources of OTLP.
    let otlp: Set<String>

    /// - Throws: `Refusal` for a name that no metric has, for one that Prometheus cannot take, and for two that are one
    ///   metric there.
    package init(_ names: [String]) throws(Refusal) {
        guard names.count <= Self.maximumNames else {
            throw Refusal(message: "\(names.count) metrics are named; at most \(Self.maximumNames) can be.")
        }
        var (builtIn, custom, otlp): (Set<String>, Set<String>, Set<String>) = ([], [], [])
        for name in names {
            if name == Self.all {
                builtIn.formUnion(Self.known.keys)
            } else if let bare = try Self.name(name, behind: Self.customPrefix) {
                custom.insert(bare)
            } else if let bare = try Self.name(name, behind: Self.otlpPrefix) {
                otlp.insert(bare)
            } else if Self.known[name] != nil {
                builtIn.insert(name)
            } else if MetricCatalog.definitions[name] != nil {
                throw Refusal(
                    message: """
                        '\(name)' is the increase since the previous sample, and Prometheus takes totals and present \
                        values only. Choose another metric (GET /api/v1/metrics-catalog lists them with their kinds).
                        """)
            } else {
                let similar = Self.similar(to: name).map { " Did you mean \($0)?" } ?? ""
                throw Refusal(
                    message: """
                        '\(name)' is no metric of a built-in module.\(similar) GET /api/v1/metrics-catalog lists them. \
                        Write \(Self.customPrefix)\(name) for a metric of custom samples, and \
                        \(Self.otlpPrefix)\(name) for one that came as OTLP.
                        """)
            }
        }
        (self.names, self.builtIn, self.custom, self.otlp) = (names, builtIn, custom, otlp)
        var families: [String: String] = [:]
        for name in builtIn.sorted() {
            guard let family = Self.known[name]?.family else { continue }
            if let other = families.updateValue(name, forKey: family) {
                throw Refusal(message: "'\(other)' and '\(name)' have one name in Prometheus, \(family). Choose one.")
            }
        }
    }

    /// The name of a metric behind a prefix; `nil` if the prefix is not there.
    private static func name(_ text: String, behind prefix: String) throws(Refusal) -> String? {
        guard text.hasPrefix(prefix) else { return nil }
        let bare = String(text.dropFirst(prefix.count))
        guard !bare.isEmpty else { throw Refusal(message: "'\(text)' has no name behind the colon.") }
        return bare
    }

    /// Those that the console charts for every device, as far as Prometheus can take them.
    package static let usual: DeviceMetricChoice = {
        do throws(Refusal) { return try DeviceMetricChoice(Console.chartedMetrics.filter { known[$0] != nil }) } catch {
            preconditionFailure(error.message)
        }
    }()

    /// The built-in modules' metrics that Prometheus can take, with their names there.
    private static let known: [String: PrometheusName] = MetricCatalog.definitions.compactMapValues(PrometheusName.init)

    /// The known name that differs least; `nil` if none is near.
    private static func similar(to name: String) -> String? {
        let near = known.keys.map { (distance: distance(name, $0), name: $0) }.min { $0 < $1 }
        guard let near, near.distance <= max(2, name.utf8.count / 5) else { return nil }
        return near.name
    }

    /// The fewest bytes to change, add or remove (Levenshtein).
    private static func distance(_ left: String, _ right: String) -> Int {
        // A name this long is no slip of the pen.
        guard left.utf8.count <= 128 else { return .max }
        let right = Array(right.utf8)
        var row = Array(0...right.count)
        for (number, byte) in left.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = number + 1
            for place in right.indices {
                let changed = diagonal + (right[place] == byte ? 0 : 1)
                diagonal = row[place + 1]
                row[place + 1] = min(changed, row[place] + 1, row[place + 1] + 1)
            }
        }
        return row[right.count]
    }
}

/// What the answer of `/metrics/devices` shows, and how much of it.
package struct DeviceMetricSettings: Sendable, Equatable {
    /// Seconds for which a device's newest value is shown, counted from its sample.
    package static let ageSeconds: ClosedRange<Int64> = 60...86_400
    /// Series of one organization.
    package static let seriesLimits = 100...2_000_000

    package var choice = DeviceMetricChoice.usual
    /// Twelve minutes: twice the time that a device samples and sends in by default (60 s and 300 s). Its newest value
    /// is up to six minutes old just before the next batch arrives, so a shorter age would leave a gap before each.
    package var ageSeconds: Int64 = 720
    package var maximumSeries = 200_000

    package init() {}
}
