import ArgumentParser
import CollectorClient
import CommandKit
import JSON
import TelemetryBasics
import WireModel

/// `ws1ctl notice`.
struct NoticeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notice", abstract: "Lists and mutes notices for administrators.",
        subcommands: [NoticeList.self, NoticeMute.self, NoticeUnmute.self], aliases: ["notices"])
}

struct NoticeList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists notices, newest first.")

    @Flag(help: "Only those that can end and have not.")
    var open = false
    @Option(help: "Only those about this device.", completion: .devices)
    var device: String?
    @Option(help: "Only this code, such as disk-low.")
    var code: String?
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            var subject: String?
            if let device { subject = try await session.device(device) }
            try output.print(
                try await session.list(
                    CollectorCall(
                        .get, "notices",
                        query: [("open", open ? "true" : nil), ("subject", subject), ("code", code)]), limit: most),
                [
                    ("id", "id"), ("code", "code"), ("organization", "organization"), ("subject", "subject"),
                    ("count", "count"), ("last", "lastAt"), ("ended", "endedAt"), ("muted by", "muted.by"),
                    ("detail", "detail"),
                ])
        }
    }
}

struct NoticeMute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute", abstract: "Mutes all notices of a notice's code, organization and subject.")

    @Argument(help: "The notice's id.")
    var notice: String
    @Option(help: ArgumentHelp("For so long: 90s, 15m, 2h, 3d. Default: until it is unmuted.", valueName: "time"))
    var duration: SpanArgument?
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        var body: [String: JSONValue] = [:]
        if let duration {
            let seconds = try duration.seconds(of: "--duration", atMostDays: 366)
            body["until"] = .text(Timestamp.text(SystemClock.wallMicroseconds() + seconds * 1_000_000))
        }
        try await collector.ask { session in
            try output.print(
                try await session.send(CollectorCall(.post, "notices", notice, "mute"), .object(body)))
        }
    }
}

struct NoticeUnmute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unmute", abstract: "Ends the mute of a notice.")

    @Argument(help: "The notice's id.")
    var notice: String
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            try output.print(try await session.json(CollectorCall(.post, "notices", notice, "unmute")))
        }
    }
}
