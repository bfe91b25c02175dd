import ArgumentParser
import CommandKit
import DataSampler
import Glibc
import WireModel

struct PasscodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode", abstract: "Gives the agent the passcode that protects the data directory.",
        discussion: """
            Needs a running agent with the setting device-key: passcode. The first passcode holds from then on. After \
            each start the agent is locked until it has the passcode: samples and events wait in its memory, and \
            nothing is sent. The passcode is asked for without showing it; without a terminal it is the first line of \
            standard input, and with --change the second line is the new one. A forgotten passcode cannot be found \
            out; see give-up-sealed.
            """)

    @Flag(help: "Replace the passcode by another one.")
    var change = false

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        let prompt = SecretPrompt()
        var request = WireControlRequest()
        request.passcode.passcode = try prompt.ask(change ? "Present passcode: " : "Passcode: ")
        if change {
            let replacement = try prompt.ask("New passcode: ")
            if prompt.isTerminal, try prompt.ask("New passcode again: ") != replacement {
                throw CommandError(.usage, "the two new passcodes differ: nothing was changed")
            }
            request.passcode.replacement = replacement
        }
        _ = try await access.ask(request)
        try Output.outcome(
            change ? "the passcode is changed" : "the keys are at hand", ["isChanged": change], asJSON: options.json)
    }
}

struct GiveUpSealedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "give-up-sealed",
        abstract: "Gives up what is encrypted here because its passcode or device key is lost.",
        discussion: """
            Needs a running agent that is locked. Encrypted records count as unreadable, on the device and at the \
            collector. Credential, profile and keys are removed, so the device needs an enrollment token and enrolls \
            as a new one. Try a copy of the device key first: this cannot be undone. While the keys are at hand \
            nothing is done.
            """)

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        try confirmation.confirm(
            "What is encrypted in \(access.configuration.directory) is removed for good, with this device's credential")
        var request = WireControlRequest()
        request.giveUpSealed = WireControlGiveUpSealed()
        _ = try await access.ask(request, within: 120)
        try Output.outcome("given up", ["isGivenUp": true], asJSON: options.json)
    }
}

/// Asks a person for a secret. On a terminal nothing of it is shown.
struct SecretPrompt {
    let isTerminal = isatty(STDIN_FILENO) == 1

    /// - Throws: `.usage` if there is no line.
    func ask(_ prompt: String) throws(CommandError) -> String {
        let line = isTerminal ? hidden(prompt) : readLine()
        guard let line, !line.isEmpty else {
            throw CommandError(.usage, "no passcode was given: enter one, or give it as a line of standard input")
        }
        return line
    }

    private func hidden(_ prompt: String) -> String? {
        StandardError.write(prompt)
        var former = termios()
        let isTerminalKnown = tcgetattr(STDIN_FILENO, &former) == 0
        if isTerminalKnown {
            var silent = former
            silent.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        }
        defer {
            if isTerminalKnown { tcsetattr(STDIN_FILENO, TCSAFLUSH, &former) }
            StandardError.write("\n")
        }
        return readLine()
    }
}
