/// collectd as it is set beside the agent: what the agent's modules read, every second, into CSV files.
struct CollectdConfiguration {
    var directory: String
    var plugins: String
    /// The modules of the agent, each with collectd's plugins that read the same.
    var modules: [String]

    /// `netlink` is left out: it reads what `interface` does.
    private static let pluginsOfModule: [String: [String]] = [
        "system": ["cpu", "memory", "swap", "df", "disk", "load", "uptime", "processes", "thermal", "battery"],
        "networkData": ["interface"],
        "networkAdapter": ["interface"],
        "wlan2": ["wireless"],
    ]

    var loaded: [String] { Set(modules.flatMap { Self.pluginsOfModule[$0] ?? [] }).sorted() }

    var text: String {
        """
        Hostname "benchmark"
        FQDNLookup false
        BaseDir "\(directory)"
        PIDFile "\(directory)/collectd.pid"
        PluginDir "\(plugins)"
        TypesDB "/usr/share/collectd/types.db"
        Interval 1
        \((["csv"] + loaded).map { "LoadPlugin \($0)" }.joined(separator: "\n"))
        <Plugin csv>
          DataDir "\(directory)/csv"
          StoreRates true
        </Plugin>

        """
    }
}
