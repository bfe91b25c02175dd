/// One thing that is measured: `measure` does it once and says the figure of that round.
struct Contestant {
    var name: String
    /// The name of the contestant of the same comparison it is set against; nil for the baselines.
    var baseline: String?
    var measure: () async throws -> Double

    init(_ name: String, baseline: String? = nil, measure: @escaping () async throws -> Double) {
        self.name = name
        self.baseline = baseline
        self.measure = measure
    }
}
