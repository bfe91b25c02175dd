import ArgumentParser

/// A length of time as given on the command line: `90s`, `15m`, `2h`, `3d`, `1w`.
struct SpanArgument: Equatable, Sendable, ExpressibleByArgument {
    let seconds: Int64

    static func seconds(_ seconds: Int64) -> SpanArgument { SpanArgument(seconds: seconds) }

    private init(seconds: Int64) { self.seconds = seconds }

    /// `nil` for what is none, and for none at all.
    init?(argument: String) {
        guard case .ago(let microseconds)? = TimeArgument(argument), microseconds > 0 else { return nil }
        self.init(seconds: microseconds / 1_000_000)
    }

    var defaultValueDescription: String { seconds % 86_400 == 0 ? "\(seconds / 86_400)d" : "\(seconds)s" }
}
