/// A measurement that cannot be made, or that did not do what it claims to measure.
struct BenchmarkError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
