/// Debian's ZooKeeper, which has no program of its own.
enum ZooKeeperProgram {
    private static let jars = [
        "zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "netty-all", "netty-handler", "netty-common",
        "netty-buffer", "netty-codec", "netty-transport", "netty-resolver", "metrics-core", "snappy-java",
        "jetty9-server",
    ]

    /// A server alone. It starts in half a second and needs 60 MB.
    static func command(_ configuration: String) -> [String] {
        [
            "java", "-Xms16m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            // The files need to outlive a kill, not a power cut.
            "-Dzookeeper.forceSync=no", "-Dzookeeper.admin.enableServer=false",
            "-cp", jars.map { "/usr/share/java/\($0).jar" }.joined(separator: ":"),
            "org.apache.zookeeper.server.ZooKeeperServerMain", configuration,
        ]
    }
}
