/// The rounds of one measurement.
struct Figures: Codable {
    var median: Double
    var minimum: Double
    var maximum: Double
    var rounds: [Double]

    init(_ values: [Double]) {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        rounds = values
        minimum = sorted.first ?? .nan
        maximum = sorted.last ?? .nan
        median =
            sorted.isEmpty
            ? .nan : sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
