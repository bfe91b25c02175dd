import ArgumentParser
import CollectorClient
import CommandKit
import FoundationEssentials
import JSON
import WireModel

/// `ws1ctl job`: actions on many devices.
struct JobCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job", abstract: "Does an action on many devices, and shows how far it is.",
        discussion: """
            The devices are named by --device, or selected by the filters of `ws1ctl device list`. The collector says \
            first how many are selected, and acts on exactly these. It works a job off by itself, also after a restart.

              ws1ctl job command send-beacon --state late --os "debian 12"
              ws1ctl job command change-log-level level=verbose durationSeconds:=600 --device till-1 --device till-2
              ws1ctl job revoke --application com.example.kiosk --wait
            """,
        subcommands: [
            JobList.self, JobGet.self, JobDevices.self, JobSend.self, JobRevoke.self, JobReinstate.self,
            JobDoNotDisturb.self, JobDelete.self, JobCancel.self,
        ], aliases: ["jobs"])

    static let columns = [
        ("id", "id"), ("action", "action"), ("kind", "kind"), ("state", "state"), ("devices", "devices"),
        ("done", "done"), ("refused", "refused"), ("waiting", "waiting"), ("started", "startedAt"), ("by", "startedBy"),
    ].map { (title: $0, path: $1) }
}

/// A job that there is.
struct JobArgument: ParsableArguments {
    @Argument(help: "The job's id, or its first four or more digits.")
    var job: String

    func id(_ session: Session) async throws -> String {
        if let id = DeviceID(job) { return "\(id)" }
        return try Session.choose("job", job, among: try await session.list(CollectorCall(.get, "device-jobs")))
    }
}

struct JobList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists jobs, newest first.")

    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            try output.print(
                try await session.list(CollectorCall(.get, "device-jobs"), limit: most), JobCommand.columns)
        }
    }
}

struct JobGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Shows a job and how far it is.",
        discussion: "With --wait it ends when the job has ended, and with 1 if a device was refused.")

    @OptionGroup var argument: JobArgument
    @OptionGroup var following: FollowOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let id = try await argument.id(session)
            try await following.show(try await session.json(CollectorCall(.get, "device-jobs", id)), session, output)
        }
    }
}

struct JobDevices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Lists what became of a job for each device.")

    @OptionGroup var argument: JobArgument
    @Option(
        help: "Only waiting, done or refused ones.", completion: .list(["waiting", "done", "refused"]))
    var result: String?
    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        let most = try page.most
        try await collector.ask { session in
            let id = try await argument.id(session)
            try output.print(
                try await session.list(
                    CollectorCall(.get, "device-jobs", id, "devices", query: [("result", result)]), limit: most),
                [
                    ("device", "name"), ("device id", "device"), ("result", "result"), ("code", "code"),
                    ("detail", "detail"), ("command", "command"),
                ])
        }
    }
}

struct JobCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Ends a job before it comes to the other devices. What is done stays done.")

    @OptionGroup var argument: JobArgument
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    func run() async throws {
        try await collector.ask { session in
            let id = try await argument.id(session)
            try output.print(try await session.json(CollectorCall(.post, "device-jobs", id, "cancel")))
        }
    }
}
