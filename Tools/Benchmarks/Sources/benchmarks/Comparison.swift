/// Contestants measured in turns: every round measures all of them, so that what the machine does meanwhile hits all
/// alike.
struct Comparison: Codable {
    struct Result: Codable {
        var name: String
        var figures: Figures
        var baseline: String?
        /// Figure over the baseline's of the same round.
        var ratio: Figures?
    }

    var name: String
    var unit: String
    var results: [Result]
    /// The other findings, in words.
    var notes: [String] = []

    static func run(_ name: String, unit: String, rounds: Int, _ contestants: [Contestant]) async throws -> Comparison {
        var values = [[Double]](repeating: [], count: contestants.count)
        for round in 0...rounds {
            for (index, contestant) in contestants.enumerated() {
                let value = try await contestant.measure()
                if round > 0 { values[index].append(value) }
            }
        }
        let names = contestants.map(\.name)
        let results = contestants.enumerated().map { index, contestant in
            var result = Result(name: contestant.name, figures: Figures(values[index]), baseline: contestant.baseline)
            if let baseline = contestant.baseline.flatMap({ names.firstIndex(of: $0) }) {
                result.ratio = Figures(zip(values[index], values[baseline]).map { $0 / $1 })
            }
            return result
        }
        return Comparison(name: name, unit: unit, results: results)
    }
}
