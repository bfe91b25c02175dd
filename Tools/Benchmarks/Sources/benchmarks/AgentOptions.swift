import ArgumentParser

/// Which agent runs beside which collectd, and for how long.
struct AgentOptions: ParsableArguments {
    @Option(help: "The release build of ws1agent.")
    var agent = "../../.build/shipped/ws1agent"

    @Option(help: "The modules it samples, as of its --modules.")
    var modules = "system,networkData,networkAdapter,wlan2"

    @Option(help: "collectd's program.")
    var collectd = "/usr/sbin/collectd"

    @Option(help: "Where collectd's plugins lie.")
    var collectdPlugins = "/usr/lib/collectd"

    @Option(help: "Seconds of one round.")
    var seconds = 60

    @Option(help: "Seconds both run before the first round.")
    var warmUp = 45

    func validate() throws {
        guard (1...86_400).contains(seconds) else {
            throw ValidationError("--seconds \(seconds): a number from 1 to 86,400 is needed")
        }
        guard (1...3600).contains(warmUp) else {
            throw ValidationError("--warm-up \(warmUp): a number from 1 to 3,600 is needed")
        }
    }
}
