import ArgumentParser
import FoundationEssentials

/// How times are shown, and whether in colour.
struct ViewOptions: ParsableArguments {
    @Flag(help: "Show times in UTC, as they are on disk; without it a terminal shows short local times.")
    var utc = false

    @Flag(inversion: .prefixedNo, help: "Colour; by default on a terminal, unless NO_COLOR is set.")
    var color: Bool?

    func style(isTerminal: Bool, isJSON: Bool = false) -> LineStyle {
        let noColour = ProcessInfo.processInfo.environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return LineStyle(
            isColoured: color ?? (isTerminal && !noColour), isLocalTime: isTerminal && !utc, isJSON: isJSON, isForTerminal: isTerminal)
    }
}
