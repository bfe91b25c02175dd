import ArgumentParser
import Collector
import CollectorStore
import Foundation
import WireModel

struct ValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check flags, environment, file and certificates as `serve` would, and say what would be used.",
        discussion: """
            Example:
              ws1collector validate --config /etc/ws1collector.yaml
            """)

    @OptionGroup var options: ServerOptions

    func run() async throws {
        try await perform {
            let settings = try options.settings()
            _ = try settings.tls?.configuration()
            print("data                    \(settings.data)")
            print("listen                  \(settings.listen)")
            print(
                "tls                     \(settings.tls.map { "\($0.certificate)\($0.clientCA.map { ", clients of \($0)" } ?? "")" } ?? "off")"
            )
            print("log-level               \(settings.logLevel)")
            print("maximum-body-bytes      \(settings.maximumBodyBytes)")
            print("maximum-inflated-bytes  \(settings.maximumInflatedBytes)")
            print("maximum-connections     \(settings.maximumConnections)")
            for stream in StreamName.allCases {
                let limits = settings.retention[stream]
                let bytes = limits.bytes.map { ", \($0) bytes" } ?? ""
                print("retention-\(stream)".padding(toLength: 24, withPad: " ", startingAt: 0) + "\(limits.days) days\(bytes)")
            }
            print("disk-notice-bytes       \(settings.diskNoticeBytes)")
            if let webhook = settings.noticeWebhook { print("notice-webhook          at \(webhook.host)") }
            print("The configuration is valid.")
        }
    }
}
