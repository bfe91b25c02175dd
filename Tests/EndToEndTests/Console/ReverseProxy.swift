import Foundation
import TestKit

/// nginx in front of a collector, which it serves under a path, as Documentation/console.md configures it.
enum ReverseProxy {
    static let prefix = "/telemetry"

    /// Runs `body` with the proxy's origin.
    static func serving(_ deployment: Deployment, _ body: (String) async throws -> Void) async throws {
        let directory = "\(deployment.directory)/proxy"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let port = try FreePorts.one()
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(directory)/\($0);"
        }.joined(separator: " ")
        let configuration = """
            daemon off; pid \(directory)/pid; error_log stderr; worker_processes 1;
            events { worker_connections 64; }
            http {
                access_log off; \(places)
                server {
                    listen 127.0.0.1:\(port);
                    location \(prefix)/ {
                        proxy_pass http://127.0.0.1:\(deployment.collectorPort)/;
                        proxy_http_version 1.1;
                        proxy_buffering off;
                        proxy_set_header X-Forwarded-Prefix \(prefix);
                        proxy_set_header X-Forwarded-Host $http_host;
                        proxy_set_header X-Forwarded-Proto $scheme;
                    }
                }
            }
            """
        let file = "\(directory)/nginx.conf"
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
        let child = try ChildProcess(
            "/usr/sbin/nginx", ["-e", "stderr", "-p", directory, "-c", file], environment: Program.environment([:]),
            output: "\(directory)/log", errors: "\(directory)/log")
        do {
            try await deployment.until("the proxy answers", while: child) {
                await deployment.isReady(at: "http://127.0.0.1:\(port)\(prefix)")
            }
            try await body("http://127.0.0.1:\(port)")
        } catch {
            print("--- nginx", Program.text("\(directory)/log").suffix(2000), separator: "\n")
            await child.killAndReap()
            throw error
        }
        child.send(signal: SIGQUIT)
        if await child.ending(within: .seconds(10)) == nil { await child.killAndReap() }
    }
}
