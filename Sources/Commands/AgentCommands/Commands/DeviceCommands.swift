import ArgumentParser
import CommandKit
import DataSampler
import WipeCertificates
import WireModel

struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Reports that the device was unlocked; the agent sends a beacon at once.",
        discussion: """
            Needs a running agent. Where logind is there, it tells the agent of unlocks (see the line logind of \
            `ws1agent status`). Elsewhere call this from a hook of the lock screen or when a session starts.
            """)

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        request.unlock = WireControlUnlock()
        let answer = try await DeviceAccess(options.directory).ask(request)
        try Output.outcome("beacon \(answer.number)", ["number": answer.number], asJSON: options.json)
    }
}

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Tells the agent who uses the device; a beacon reports it at once.",
        discussion: """
            Needs a running agent, which keeps it in memory until it ends. It counts instead of the user of the \
            session that logind tells. The privacy class user decides what is sent.
            """)

    @Option(help: "The user's email address.")
    var email: String?

    @Option(help: "The user's full name.")
    var fullName: String?

    @Option(help: "The name shown for the user.")
    var displayName: String?

    @Flag(help: "Nobody uses the device.")
    var clear = false

    @OptionGroup var options: ReportOptions

    func validate() throws {
        let isGiven = [email, fullName, displayName].contains { $0 != nil }
        guard isGiven != clear else {
            throw ValidationError("give --email, --full-name or --display-name, or --clear for nobody")
        }
    }

    func run() async throws {
        var request = WireControlRequest()
        request.user = WireControlUser()
        if let email { request.user.email = email }
        if let fullName { request.user.fullName = fullName }
        if let displayName { request.user.displayName = displayName }
        _ = try await DeviceAccess(options.directory).ask(request)
        try Output.outcome(
            clear ? "nobody uses the device" : "the user is set", ["isSet": !clear], asJSON: options.json)
    }
}

struct RefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Asks the collector now for profile, commands and assigned applications, and sends a beacon.",
        discussion: "Needs a running agent. Shows what is then known of the device.")

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        request.refresh = WireControlRefresh()
        let answer = try await DeviceAccess(options.directory).ask(request)
        if options.json { return try Output.json(answer.json) }
        let refreshed = try StatusCommand.decode(RefreshAnswer.self, answer.json)
        for (name, text) in refreshed.information.sorted(by: { $0.key < $1.key }) {
            try Output.line("\(name): \(text)")
        }
        let applications = refreshed.applications.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") }
        try Output.line("assigned applications: \(applications ?? "not applicable")")
    }
}

struct DoNotDisturbCommand: AsyncParsableCommand {
    enum Switch: String, CaseIterable, ExpressibleByArgument {
        case on
        case off
        case status
    }

    static let configuration = CommandConfiguration(
        commandName: "dnd", abstract: "Begins or ends do-not-disturb: samples, events and logs pause, beacons go on.",
        discussion: """
            Needs a running agent, and a profile that allows it. The decision is kept over restarts, and the agent \
            tells the collector. A person may decide otherwise there: the newest decision holds. status asks the \
            collector who decided, and when.
            """)

    @Argument(help: "on, off or status.")
    var state: Switch

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        if state == .status {
            request.fetchDoNotDisturb = WireControlFetchDoNotDisturb()
            let answer = try await DeviceAccess(options.directory).ask(request)
            if options.json { return try Output.json(answer.json) }
            let status = try StatusCommand.decode(DeviceDNDStatus.self, answer.json)
            return try Output.line("do-not-disturb is \(StatusText.words(status))")
        }
        request.doNotDisturb.on = state == .on
        _ = try await DeviceAccess(options.directory).ask(request)
        try Output.outcome(
            "do-not-disturb is \(state.rawValue)", ["doNotDisturb": state.rawValue], asJSON: options.json)
    }
}

struct PushTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-token",
        abstract: "Sets the push token with which the collector can wake this device; a beacon carries it at once.",
        discussion: """
            Needs a running agent. An unchanged token is not sent again. With --wait the command ends when the \
            collector has the token; otherwise it says what stands in the way, and the exit code is 75.
            """)

    @Argument(help: "The token, up to 4096 bytes.")
    var token: String?

    @Flag(help: "Make the collector forget its token.")
    var clear = false

    @OptionGroup var delivery: DeliveryOptions
    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (token == nil) == clear else { throw ValidationError("give a token, or --clear") }
    }

    func run() async throws {
        var request = WireControlRequest()
        if let token { request.pushToken.token.token = token } else { request.pushToken.token.cleared = true }
        let access = try DeviceAccess(options.directory)
        request.pushToken.waitSeconds = delivery.seconds
        if delivery.wait {
            _ = try await access.ask(request, waitingSeconds: delivery.seconds)
        } else {
            _ = try await access.ask(request)
        }
        let place = delivery.wait ? " at the collector" : ""
        try Output.outcome(
            (clear ? "the push token is cleared" : "the push token is set") + place,
            ["isSet": !clear, "isAtCollector": delivery.wait], asJSON: options.json)
    }
}

struct ConsentCommand: AsyncParsableCommand {
    enum Decision: String, CaseIterable, ExpressibleByArgument {
        case granted
        case pending
        case denied

        var wire: WireConsent {
            switch self {
            case .granted: .granted
            case .pending: .pending
            case .denied: .denied
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "consent", abstract: "Records the decision of the device's user on being sampled.",
        discussion: """
            pending: events and samples wait on the device. granted: they are sent. denied: waiting ones are dropped \
            and counted, and new ones are counted but not recorded. Needs a running agent, which remembers the decision.
            """)

    @Argument(help: "granted, pending or denied.")
    var decision: Decision

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        request.consent.consent = decision.wire
        _ = try await DeviceAccess(options.directory).ask(request)
        try Output.outcome(
            "consent is \(decision.rawValue)", ["consent": decision.rawValue], asJSON: options.json)
    }
}

struct ResetCredentialsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset-credentials",
        abstract: "Gets this device new credentials without unenrolling it.",
        discussion: """
            The device enrolls again as the same device, with its enrollment token. Waiting records stay, and the \
            former credentials end when the new ones are used. If the collector cannot be reached or refuses, the \
            present credentials stay in use. Needs a running agent with an enrollment token that is still good.
            """)

    @OptionGroup var options: ReportOptions

    func run() async throws {
        var request = WireControlRequest()
        request.resetCredentials = WireControlResetCredentials()
        // A collector that does not answer may take a minute.
        _ = try await DeviceAccess(options.directory).ask(request, within: 120)
        try Output.outcome("this device has new credentials", ["hasNewCredentials": true], asJSON: options.json)
    }
}

struct UnenrollCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unenroll",
        abstract: "Ends this device's enrollment: sends a last beacon, then records and sends nothing more.",
        discussion: """
            Waiting records are dropped and counted as unenrolled. Profile and credential are erased. With --wipe, \
            records and logs are erased first, and the credential stays until the collector has the last beacon, for \
            24 hours at most. Needs a running agent. After a crash, the agent's next start goes on. A new enrollment \
            token enrolls the device again.

            --wipe prints the device's signed certificate of what was destroyed, or why there is none. Nobody else \
            keeps it. `ws1collector verify-wipe FILE` checks it.
            """)

    @Flag(help: "First erase records, logs and profile.")
    var wipe = false

    @Option(help: "The reason for the wipe, for the log.")
    var reason: String?

    @Flag(
        help: """
            With --wipe: print JSON: `document`, the certificate, or `remark`, why there is none. Whether the \
            collector is informed goes to standard error.
            """)
    var json = false

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: DirectoryOptions

    func validate() throws {
        guard wipe || reason == nil else { throw ValidationError("--reason is of a wipe: give --wipe too") }
        guard wipe || !json else { throw ValidationError("--json prints the certificate of a wipe: give --wipe too") }
    }

    func run() async throws {
        let access = try DeviceAccess(options)
        var request = WireControlRequest()
        if wipe {
            try confirmation.confirm(
                "This device leaves its organization, and all records that wait on it and its logs are erased")
            request.unenrollWithWipe.reason = reason ?? ""
        } else {
            try confirmation.confirm(
                "This device leaves its organization, and records that it has not sent are dropped")
            request.unenroll = WireControlUnenroll()
        }
        let answer = try await access.ask(request, within: 60)
        // The number is 1 if the collector has been informed.
        let outcome =
            answer.number == 1 ? "unenrolled" : "unenrolled here; the collector is told as soon as it can be reached"
        if json { StandardError.line(outcome) } else { try Output.line(outcome) }
        guard wipe else { return }
        let file = try WipeCertificateFile(answer)
        guard !json else { return try Output.json(file) }
        guard let document = file.document else { return try Output.line(file.remark ?? "no certificate") }
        try Output.line("the certificate of the wipe, which nobody else keeps; `ws1collector verify-wipe` checks it:")
        try Output.line(document)
    }
}

struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe", abstract: "Clears this device's data: records and logs; waiting records count as wiped.",
        discussion:
            """
            Identity and profile stay, and recording goes on in a new epoch. `unenroll --wipe` ends the enrollment \
            too. Needs a running agent. After a crash, the agent's next start completes the wipe.

            The keys are destroyed first. With --json the device's signed certificate of that is printed, which nobody \
            else keeps. `ws1collector verify-wipe FILE` checks it.
            """
    )

    @Option(help: "The reason, for the log.")
    var reason: String = ""

    @Flag(help: "Print JSON: `document`, the certificate, or `remark`, why there is none.")
    var json = false

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options)
        try confirmation.confirm("All records that wait on this device and its logs are erased")
        var request = WireControlRequest()
        request.wipe.reason = reason
        let answer = try await access.ask(request)
        guard json else { return try Output.line("wiped") }
        try Output.json(try WipeCertificateFile(answer))
    }
}

extension WipeCertificateFile {
    /// What an agent answers. One of a former version answers without.
    fileprivate init(_ answer: WireControlAnswer) throws {
        self =
            answer.json.isEmpty
            ? WipeCertificateFile(document: nil, remark: "no certificate: the running agent makes none")
            : try StatusCommand.decode(WipeCertificateFile.self, answer.json)
    }
}
