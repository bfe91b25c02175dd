import Foundation
import TestKit

/// The configuration files of the servers: as in production, but small and quick.
struct ServerFiles {
    /// Everything is below it.
    let folder: String
    /// The port of ZooKeeper; `nil`: there is none.
    let zooKeeperPort: Int?
    /// How long ZooKeeper counts a silent replica as alive.
    let sessionTimeoutMilliseconds: Int

    struct Ports {
        var http: Int
        var https: Int
        /// The port of the native protocol. Nobody uses it here, but a replica that lacks it does not come up.
        var native: Int
        var interserver: Int
    }

    /// Writes the files of a replica.
    /// - Returns: the path of its configuration.
    func writeReplica(_ index: Int, _ ports: Ports) throws -> String {
        let folder = "\(folder)/replica\(index)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try replica(index, folder, ports).write(
            toFile: "\(folder)/config.xml", atomically: false, encoding: .utf8)
        try users.write(toFile: "\(folder)/users.xml", atomically: false, encoding: .utf8)
        try ServerCertificates.one.certificate.write(
            toFile: "\(folder)/server.crt", atomically: false, encoding: .utf8)
        try ServerCertificates.one.key.write(toFile: "\(folder)/server.key", atomically: false, encoding: .utf8)
        return "\(folder)/config.xml"
    }

    /// Writes the file of ZooKeeper.
    /// - Returns: its path.
    func writeZooKeeper(port: Int) throws -> String {
        let folder = "\(folder)/zookeeper"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let text = """
            tickTime=200
            dataDir=\(folder)/data
            clientPort=\(port)
            clientPortAddress=127.0.0.1
            admin.enableServer=false
            minSessionTimeout=400
            maxSessionTimeout=60000
            """
        try text.write(toFile: "\(folder)/zoo.cfg", atomically: false, encoding: .utf8)
        return "\(folder)/zoo.cfg"
    }

    private func replica(_ index: Int, _ folder: String, _ ports: Ports) -> String {
        let zooKeeper = zooKeeperPort.map { port in
            """
            <zookeeper>
                <node><host>127.0.0.1</host><port>\(port)</port></node>
                <session_timeout_ms>\(sessionTimeoutMilliseconds)</session_timeout_ms>
            </zookeeper>
            """
        }
        return """
            <yandex>
                <logger>
                    <level>information</level><log>\(folder)/server.log</log><errorlog>\(folder)/errors.log</errorlog>
                    <size>20M</size><count>1</count>
                </logger>
                <listen_host>127.0.0.1</listen_host>
                <http_port>\(ports.http)</http_port>
                <https_port>\(ports.https)</https_port>
                <tcp_port>\(ports.native)</tcp_port>
                <interserver_http_port>\(ports.interserver)</interserver_http_port>
                <interserver_http_host>127.0.0.1</interserver_http_host>
                <openSSL><server>
                    <certificateFile>\(folder)/server.crt</certificateFile>
                    <privateKeyFile>\(folder)/server.key</privateKeyFile>
                    <verificationMode>none</verificationMode>
                    <loadDefaultCAFile>false</loadDefaultCAFile>
                </server></openSSL>
                <max_connections>256</max_connections>
                <max_concurrent_queries>64</max_concurrent_queries>
                <keep_alive_timeout>3</keep_alive_timeout>
                <uncompressed_cache_size>0</uncompressed_cache_size>
                <mark_cache_size>16777216</mark_cache_size>
                <path>\(folder)/data/</path>
                <tmp_path>\(folder)/tmp/</tmp_path>
                <users_config>users.xml</users_config>
                <default_profile>default</default_profile>
                <default_database>default</default_database>
                <timezone>UTC</timezone>
                <macros><replica>replica\(index)</replica></macros>
                <merge_tree>
                    <!-- Seconds. A replica checks its session each minute by default. -->
                    <zookeeper_session_expiration_check_period>1</zookeeper_session_expiration_check_period>
                </merge_tree>
                \(zooKeeper ?? "")
            </yandex>
            """
    }

    /// The user `default` without a password, and `guarded` with one.
    private var users: String {
        """
        <yandex>
            <profiles><default>
                <max_memory_usage>1000000000</max_memory_usage>
                <max_threads>2</max_threads>
                <background_pool_size>4</background_pool_size>
                <background_schedule_pool_size>4</background_schedule_pool_size>
                <log_queries>0</log_queries>
            </default></profiles>
            <users>
                <default>
                    <password></password><networks><ip>127.0.0.1</ip></networks>
                    <profile>default</profile><quota>default</quota>
                </default>
                <guarded>
                    <password>\(ClickHouseServers.guardedPassword)</password><networks><ip>127.0.0.1</ip></networks>
                    <profile>default</profile><quota>default</quota>
                </guarded>
            </users>
            <quotas><default></default></quotas>
        </yandex>
        """
    }
}
