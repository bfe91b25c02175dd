import ArgumentParser
import Glibc

/// Asks before a command does what nobody can undo. On a terminal it asks; elsewhere the command needs `--yes`.
package struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Do not ask.")
    package var yes = false

    package init() {}

    /// - Parameter what: a sentence without its full stop that says what will happen.
    /// - Throws: `.usage` if nobody can be asked, `.failed` if the answer is not yes.
    package func confirm(_ what: String) throws(CommandError) {
        guard !yes else { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(.usage, "\(what). Nobody can be asked here: give --yes")
        }
        StandardError.write("\(what). Go on? [y/N] ")
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else {
            throw CommandError(.failed, "nothing was done")
        }
    }
}
