import FoundationEssentials
import HTTPConnection
import HTTPTransport
import MQTTClient
import MQTTTransport
import RecordQueue
import Transmitter
import WireModel

/// Walks the way to the collector link by link, and stops at the first that is broken.
///
/// It asks as the transmitter does: with the transport's settings, pins, authorities and credential, and the same
/// reading of the answer. It changes nothing, here or there: it asks for the profile, or sends an enrollment request
/// that the collector must refuse for its form once it has accepted the token.
///
/// A message broker is only connected to: a second session in the device's name would end the agent's.
package struct CollectorProbe: Sendable {
    /// In the order of the walk.
    package enum Link: String, CaseIterable, Sendable {
        case dns, proxy, tcp, tls, pin, collector, token, credential
    }

    package enum Finding: Equatable, Sendable {
        case ok(String)
        case broken(String)
    }

    /// A link that is missing was not reached, or cannot be judged from here.
    package private(set) var findings: [Link: Finding] = [:]
    /// The collector's clock minus this device's in seconds, to within a second and half a round trip; `nil` without
    /// an answer.
    package private(set) var clockOffsetSeconds: Double?
    /// Host and port that this machine connects to.
    package private(set) var peer = ""
    package private(set) var isBroker = false

    /// The first broken link.
    package var broken: Link? {
        Link.allCases.first { link in
            if case .broken? = findings[link] { true } else { false }
        }
    }

    /// - Parameters:
    ///   - configuration: as the agent runs with.
    ///   - limit: for connecting, and for each answer.
    ///   - now: the wall clock, microseconds since 1970.
    /// - Throws: `invalidConfiguration` if there is no way to walk.
    package static func walk(
        _ configuration: DataSamplerConfiguration, _ files: DiagnosisFiles, within limit: Duration,
        now: @Sendable () -> Int64 = { SystemRecordClock().now().wallTime }
    ) async throws(DataSamplerError) -> CollectorProbe {
        var probe = CollectorProbe()
        switch try configuration.collectorRoute {
        case .http(var settings):
            settings.connectTimeout = limit
            guard await probe.connect(ConnectionProbe(settings), within: limit) else { return probe }
            try await probe.ask(settings, configuration, files, within: limit, now: now)
        case .broker(let settings):
            let address = settings.address
            probe.isBroker = true
            _ = await probe.connect(
                ConnectionProbe(host: address.host, port: address.port, peer: address.authority), within: limit)
        }
        return probe
    }

    /// - Returns: whether a connection can be made.
    private mutating func connect(_ way: ConnectionProbe, within limit: Duration) async -> Bool {
        peer = way.peer
        do throws(TransportError) {
            let addresses = try await way.addresses()
            let isAddress = addresses == [way.host]
            findings[.dns] = .ok(
                isAddress ? "\(way.host) is an address" : "\(way.host) is \(addresses.joined(separator: ", "))")
        } catch {
            findings[.dns] = .broken(error.message)
            return false
        }
        do throws(TransportError) {
            try await way.connect(within: limit)
            findings[.proxy] = .ok(way.isProxied ? "\(way.peer) accepts connections" : "none is used")
            findings[.tcp] = .ok(way.isProxied ? "the proxy connects" : "\(way.peer) accepts connections")
            return true
        } catch {
            if !way.isProxied { findings[.proxy] = .ok("none is used") }
            findings[way.isProxied ? .proxy : .tcp] = .broken(error.message)
            return false
        }
    }

    private mutating func ask(
        _ settings: ConnectionSettings, _ configuration: DataSamplerConfiguration, _ files: DiagnosisFiles,
        within limit: Duration, now: @Sendable () -> Int64
    ) async throws(DataSamplerError) {
        let transport: HTTPTransport
        do throws(ConnectionSettingsError) { transport = try HTTPTransport(settings) } catch {
            throw CollectorRoute.refusal(error)
        }
        let isTLS = settings.collector.scheme == .https
        transport.trust(files.authorities)
        transport.pin(to: files.pins)
        let question = Question(files, token: configuration.enrollmentToken)
        let began = now()
        do throws(TransportError) {
            if let chain = files.enrollment?.certificate, !chain.isEmpty {
                _ = try transport.show(certificate: chain)
            }
            let response = try await transport.send(question.request(within: limit))
            setOffset(response, began: began, ended: now())
            passTLS(isTLS: isTLS, pins: files.pins.count)
            read(response, to: question, files)
        } catch {
            note(error, isTLS: isTLS, hasShownKey: transport.serverKey != nil, pins: files.pins.count)
        }
        await transport.shutdown()
    }

    private mutating func passTLS(isTLS: Bool, pins: Int) {
        findings[.tls] = .ok(isTLS ? "the certificate is trusted" : "not used: the address is http://")
        findings[.pin] = .ok(pins == 0 || !isTLS ? "no key is pinned" : "the key is one of the pinned ones (\(pins))")
    }

    private mutating func note(_ error: TransportError, isTLS: Bool, hasShownKey: Bool, pins: Int) {
        let link: Link
        switch error.code {
        case .nameResolution: link = .dns
        case .proxy: link = .proxy
        case .tls, .clientCertificate: link = .tls
        case .pinMismatch:
            passTLS(isTLS: isTLS, pins: pins)
            link = .pin
        case .connectionRefused, .connectionClosed, .timedOut, .responseTooLarge, .cancelled, .other:
            // Before the handshake has ended, there is no key, and nobody has read the request.
            if isTLS, !hasShownKey {
                link = .tls
            } else {
                passTLS(isTLS: isTLS, pins: pins)
                link = .collector
            }
        }
        if link == .proxy { findings[.tcp] = nil }
        findings[link] = .broken(error.message)
    }

    private mutating func read(_ response: TransportResponse, to question: Question, _ files: DiagnosisFiles) {
        let answer = CollectorAnswer.classify(response, expected: files.enrollment?.collectorID)
        let who = response.source.map { "collector \($0.collector) answers" } ?? "answers"
        switch answer {
        case .unreachable(let why), .incompatible(let why), .failing(_, let why), .retry(_, let why),
            .full(_, let why), .tooLarge(let why), .notEnrolled(let why):
            findings[.collector] = .broken(why)
            return
        case .otherCollector:
            findings[.collector] = .broken(answer.failure ?? "another collector answers at this address")
            return
        case .success, .empty, .notModified, .notFound, .conflict, .refused, .credentialRefused, .forbidden:
            findings[.collector] = .ok(who)
        }
        let isRefused =
            switch answer {
            case .credentialRefused, .forbidden: true
            default: false
            }
        switch question {
        case .profile(_, let device):
            findings[.token] = .ok("not needed: the device is enrolled")
            findings[.credential] =
                isRefused ? .broken(answer.failure ?? "refused") : .ok("accepted, of device \(device)")
        case .enrollment:
            findings[.token] = isRefused ? .broken(answer.failure ?? "refused") : .ok("the collector accepts it")
        case .nothing: break
        }
    }

    private mutating func setOffset(_ response: TransportResponse, began: Int64, ended: Int64) {
        guard let time = response.date else { return }
        clockOffsetSeconds = Double(time - (began + (ended - began) / 2)) / 1_000_000
    }
}

extension CollectorProbe {
    /// What shows whether the device is known.
    private enum Question {
        case profile(credential: String, device: DeviceID)
        case enrollment(token: String)
        /// Neither a credential nor a token is at hand: any answer shows that there is a collector.
        case nothing

        init(_ files: DiagnosisFiles, token: String?) {
            if let enrollment = files.enrollment {
                self = .profile(credential: enrollment.credential, device: enrollment.deviceID)
            } else if let token, files.identityObstacle == nil {
                self = .enrollment(token: token)
            } else {
                self = .nothing
            }
        }

        func request(within limit: Duration) -> TransportRequest {
            var fields = [
                ("Accept", "\(WireNames.protobuf), \(WireNames.problem)"),
                ("User-Agent", "ws1agent-doctor/\(DataSampler.version)"),
            ]
            var request = TransportRequest(method: .get, path: WireNames.profilePath, timeout: limit)
            switch self {
            case .profile(let credential, _): fields.append(("Authorization", "Bearer \(credential)"))
            case .enrollment(let token):
                // An id of one byte is none, so nobody is enrolled.
                var message = WireEnrollRequest()
                message.requestID = Data([0])
                request.method = .post
                request.path = WireNames.enrollPath
                request.body = message.encoded
                fields += [("Authorization", "Bearer \(token)"), ("Content-Type", WireNames.protobuf)]
            case .nothing: break
            }
            request.headers = fields.map { (name: $0.0, value: $0.1) }
            return request
        }
    }
}
