/// Seconds of wall time that a piece of work needs.
enum Stopwatch {
    static func seconds(_ work: () throws -> Void) rethrows -> Double {
        let duration = try ContinuousClock().measure(work)
        return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }

    static func seconds(_ work: () async throws -> Void) async rethrows -> Double {
        let duration = try await ContinuousClock().measure(work)
        return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }
}
