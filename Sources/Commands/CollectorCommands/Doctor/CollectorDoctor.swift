import AsyncHTTPClient
import Collector
import CollectorAPI
import CommandKit
import Foundation
import Glibc
import HTTPConnection
import Logging
import MQTTClient
import NIOCore
import NIOHTTP1
import NIOSSL
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Examines a collector link by link, with the checks that `serve` and `validate` make.
struct CollectorDoctor {
    /// In the order of the walk. Raw values are the names in the output, which stay.
    enum Link: String, CaseIterable {
        case clock, configuration, certificate, disk, permissions, store, cluster, port, service, webhook, broker
    }

    /// Certificates that end sooner are a warning, as for the notices.
    private static let soonMicroseconds: Int64 = 30 * 86_400_000_000

    private let settings: Result<Settings, CommandError>
    /// The configuration file in words.
    private let file: String
    private let limit: Duration
    private let directory: DirectoryFacts?

    init(_ settings: Result<Settings, CommandError>, file: String, limit: Duration) {
        self.settings = settings
        self.file = file
        self.limit = limit
        directory = (try? settings.get()).map { DirectoryFacts($0.data) }
    }

    func report() async -> DoctorReport {
        var checks: [DoctorCheck] = []
        for link in Link.allCases { checks.append(await check(link)) }
        return DoctorReport(checks)
    }

    private func check(_ link: Link) async -> DoctorCheck {
        let name = link.rawValue
        if link == .clock {
            return ClockFacts.check(
                name, now: SystemClock.wallMicroseconds(), programBuilt: ClockFacts.programBuilt, offsetSeconds: nil,
                other: "")
        }
        let settings: Settings
        do throws(CommandError) { settings = try self.settings.get() } catch {
            return link == .configuration
                ? .broken(name, error.message, remedy: "correct \(file) until `ws1collector validate` is content")
                : .notReached(name, "configuration is broken")
        }
        switch link {
        case .clock, .configuration: return .ok(name, "data in \(settings.data), from \(file)")
        case .certificate: return certificate(name, settings)
        case .disk: return disk(name, settings)
        case .permissions: return permissions(name, settings)
        case .store: return store(name, settings)
        case .cluster: return await cluster(name, settings)
        case .port: return await port(name, settings)
        case .service: return await service(name, settings)
        case .webhook: return await webhook(name, settings)
        case .broker: return await broker(name, settings)
        }
    }

    // MARK: Files

    private func certificate(_ name: String, _ settings: Settings) -> DoctorCheck {
        let server: CertificatesView.Server?
        do { server = try settings.secrets(logger: Logger.ofCommand).tls?.certificates } catch {
            let why = Self.words(error)
            return .broken(name, why, remedy: "give a certificate and its key in \(file), readable by the collector")
        }
        guard let server, let files = settings.tls else {
            guard !settings.listen.isLoopback else { return .ok(name, "none is used: only this machine connects") }
            return .warning(
                name, "none is used, and other machines connect: others can read credentials and data on the way",
                remedy: "give tls-certificate and tls-key in \(file), or put a proxy with TLS in front")
        }
        guard let leaf = server.chain.first else {
            return .broken(name, server.failure ?? "\(files.certificate) has no certificate", remedy: "correct it")
        }
        let renew = "renew \(files.certificate), then systemctl reload ws1collector"
        let now = SystemClock.wallMicroseconds()
        if let ends = Timestamp.parse(leaf.validUntil), ends <= now {
            return .broken(name, "\(files.certificate) has expired at \(leaf.validUntil)", remedy: renew)
        }
        if let begins = Timestamp.parse(leaf.validFrom), begins > now {
            return .broken(
                name, "\(files.certificate) is not valid before \(leaf.validFrom)",
                remedy: "timedatectl set-ntp true, if the clock is behind; else \(renew)")
        }
        guard !leaf.names.isEmpty else {
            return .broken(
                name, "\(files.certificate) names no host, so no device accepts it",
                remedy: "have one issued with the subject alternative names that devices use; then \(renew)")
        }
        var mark = stat()
        if stat(files.key, &mark) == 0, mark.st_mode & 0o007 != 0 {
            return .broken(
                name,
                "every user of this machine can use \(files.key) (mode 0\(String(mark.st_mode & 0o7777, radix: 8)))",
                remedy: "chmod o= \(files.key)")
        }
        let found = "for \(leaf.names.joined(separator: ", ")), until \(leaf.validUntil)"
        guard let ends = Timestamp.parse(leaf.validUntil), ends - now < Self.soonMicroseconds else {
            return .ok(name, found)
        }
        return .warning(name, found, remedy: renew)
    }

    private static func words(_ error: any Error) -> String {
        (error as? CommandError ?? CommandError.collector(error))?.message ?? "\(error)"
    }

    private func disk(_ name: String, _ settings: Settings) -> DoctorCheck {
        guard settings.store == .directory else { return .ok(name, "the data is in the cluster") }
        return directory?.room(name, lowBytes: UInt64(settings.diskNoticeBytes)) ?? .notReached(name, "unknown")
    }

    private func permissions(_ name: String, _ settings: Settings) -> DoctorCheck {
        if access(settings.data, F_OK) == 0, faccessat(AT_FDCWD, settings.data, R_OK | W_OK | X_OK, AT_EACCESS) != 0,
            errno == EACCES
        {
            let denial = AccessDenial(settings.data)
            return .broken(name, "\(denial)", remedy: denial.remedy)
        }
        return directory?.ownership(name) ?? .ok(name, "all files belong to the directory's owner")
    }

    private func store(_ name: String, _ settings: Settings) -> DoctorCheck {
        guard settings.store == .directory else { return .ok(name, "the data is in the cluster") }
        do throws(StoreError) { try DataDirectory(path: settings.data).requireUsable() } catch {
            return .broken(
                name, error.message,
                remedy: "ws1collector verify --data \(settings.data); the runbook says what follows from it")
        }
        return .ok(name, "\(settings.data) can be used")
    }

    // MARK: Servers

    private func cluster(_ name: String, _ settings: Settings) async -> DoctorCheck {
        guard settings.store == .cluster else { return .ok(name, "none is used") }
        do {
            let cluster = try ClusterData(settings)
            let result: Result<Void, any Error>
            do { result = .success(try await cluster.check()) } catch { result = .failure(error) }
            await cluster.close()
            try result.get()
            return .ok(name, "PostgreSQL, ClickHouse and the object storage answer")
        } catch {
            let why = Self.words(error)
            return .broken(
                name, why, remedy: "start the server that is named, or correct it in \(file)")
        }
    }

    private func port(_ name: String, _ settings: Settings) async -> DoctorCheck {
        do throws(CommandError) {
            return try await settings.listen.isInUse()
                ? .ok(name, "a program listens on \(settings.listen)") : .ok(name, "\(settings.listen) is free")
        } catch {
            return .broken(
                name, error.message, remedy: "correct listen in \(file), or end the program that has it: ss -ltnp")
        }
    }

    /// Whether it is a collector that listens, and whether it can store.
    private func service(_ name: String, _ settings: Settings) async -> DoctorCheck {
        do throws(CommandError) {
            guard try await settings.listen.isInUse() else {
                return .broken(
                    name, "no collector listens on \(settings.listen)", remedy: "systemctl start ws1collector")
            }
        } catch { return .notReached(name, "port is broken") }
        var host = settings.listen.host
        if host == "0.0.0.0" { host = "127.0.0.1" }
        if host == "::" { host = "::1" }
        let address = ListenAddress(host: host, port: settings.listen.port)
        // Its certificate is examined by itself; here any will do.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(
                tlsConfiguration: tls, redirectConfiguration: .disallow, timeout: .init(connect: TimeAmount(limit))))
        let check: DoctorCheck
        do {
            let scheme = settings.tls == nil ? "http" : "https"
            let answer = try await client.execute(
                HTTPClientRequest(url: "\(scheme)://\(address)/readyz"), deadline: .now() + TimeAmount(limit))
            if TransportResponse(head: answer).source == nil {
                check = .broken(
                    name, "another program than a collector answers on \(settings.listen)",
                    remedy: "ss -ltnp shows it; end it, or correct listen in \(file)")
            } else if answer.status == .ok {
                check = .ok(name, "a collector listens on \(settings.listen), and is ready")
            } else {
                check = .broken(
                    name, "the collector on \(settings.listen) stores nothing (HTTP \(answer.status.code))",
                    remedy: "journalctl -u ws1collector | grep 'not ready' says why")
            }
        } catch {
            check = .broken(
                name, TransportError(cause: error, peer: "\(address)", isProxied: false).message,
                remedy: "ss -ltnp shows who listens; if it is the collector, systemctl restart ws1collector")
        }
        try? await client.shutdown()
        return check
    }

    private func webhook(_ name: String, _ settings: Settings) async -> DoctorCheck {
        guard let webhook = settings.noticeWebhook else { return .ok(name, "none is set") }
        var way = ConnectionSettings(collector: webhook.server, proxy: settings.webhookProxy)
        way.connectTimeout = limit
        return await reach(name, ConnectionProbe(way), "correct notice-webhook in \(file), or start its receiver")
    }

    private func broker(_ name: String, _ settings: Settings) async -> DoctorCheck {
        guard let address = settings.broker.address else { return .ok(name, "none is set") }
        do throws(CommandError) { try settings.broker.checkFiles() } catch {
            return .broken(name, error.message, remedy: "correct it in \(file)")
        }
        return await reach(
            name, ConnectionProbe(host: address.host, port: address.port, peer: address.authority),
            "systemctl start mosquitto there, or correct the broker in \(file)")
    }

    private func reach(_ name: String, _ way: ConnectionProbe, _ remedy: String) async -> DoctorCheck {
        do throws(TransportError) {
            _ = try await way.addresses()
            try await way.connect(within: limit)
            return .ok(name, "\(way.peer) accepts connections")
        } catch { return .broken(name, error.message, remedy: remedy) }
    }
}
