import ArgumentParser
import CommandKit
import JSON

/// `ws1ctl apply`: brings a collector to what documents say.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Brings profiles, log quotas and assignments to what files say.",
        discussion: """
            A file has one document, in YAML or JSON. Its kind is profile, log-quotas or assignments:

              kind: profile
              organization: acme
              application: com.example.app
              profile: {sampling: {modules: [system]}}

              kind: log-quotas
              quotas: {com.example.app: 100000000}

              kind: assignments
              groups: [{name: kiosks, devices: [web-1]}]
              applications: [{application: com.example.app, group: kiosks}]

            A document says all of its subject: settings, quotas and assignments that it leaves out are deleted. What \
            no document is about stays. All documents are checked before anything changes. All changes are listed, \
            deletions first, and then the devices that each document touches.
            """)

    @Option(
        name: [.customShort("f"), .customLong("file")],
        help: ArgumentHelp("A file, or a directory of files.", valueName: "path"),
        completion: .file())
    var file: String
    @Flag(help: "List the changes, and change nothing.")
    var dryRun = false
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var collector: CollectorOptions

    struct View: Encodable {
        var isDryRun: Bool
        /// Deletions first.
        var changes: [ApplyDifference]
        var documents: [ApplyPlan.View]
    }

    func run() async throws {
        let documents = try ApplyDocument.read(file)
        try await collector.ask { session in
            var planner = ApplyPlanner(session)
            let plans = try await planner.plans(documents)
            let changes = ApplyDifference.sorted(plans.flatMap(\.differences))
            let view = View(isDryRun: dryRun, changes: changes, documents: plans.map(\.view))
            let lines =
                changes.map(\.line) + plans.flatMap { plan in plan.warnings.map { "! \(plan.title): \($0)" } }
                + plans.map(\.devicesLine)
            guard !plans.isEmpty, !dryRun else {
                if output.json { return try Output.json(view) }
                return try (lines.isEmpty ? ["no changes"] : lines).forEach(Output.line)
            }
            lines.forEach(StandardError.line)
            let deletions = changes.count { $0.action == .delete }
            try confirmation.confirm("\(changes.count) changes, \(deletions) of them deletions")
            var done: [String] = []
            for plan in plans {
                do { try await plan.carryOut(session) } catch {
                    StandardError.line(
                        "ws1ctl: done before the failure: \(done.isEmpty ? "nothing" : done.joined(separator: ", "))")
                    throw error
                }
                done.append(plan.title)
                if !output.json { try Output.line("\(plan.title): done") }
            }
            if output.json { try Output.json(view) }
        }
    }
}
