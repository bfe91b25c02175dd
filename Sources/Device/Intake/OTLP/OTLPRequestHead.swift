import NIOHTTP1
import OTLP
import TelemetryBasics

/// What the head of a request asks for, and whether the agent answers such a request at all. Pure.
///
/// A page in a browser of this machine can reach loopback, too. Browsers send `Origin` with each POST to another
/// origin. A page whose own name was made to lead to loopback (DNS rebinding) has that name as `Host`. Both are refused
/// before anything of the body is read.
struct OTLPRequestHead: Equatable {
    let signal: OTLPSignal
    let encoding: OTLPEncoding
    let isCompressed: Bool

    struct Refusal: Error, Equatable {
        let status: Int
        let message: String
        /// `nil` if the request has none that OTLP knows.
        let encoding: OTLPEncoding?
    }

    /// - Parameters:
    ///   - isSocket: it came through a socket with a path, where there is no name to be forged.
    ///   - limit: bytes of a body.
    init(_ head: HTTPRequestHead, isSocket: Bool, limit: Int) throws(Refusal) {
        let encoding = head.headers.first(name: "content-type").flatMap { OTLPEncoding(contentType: $0) }
        func refusal(_ status: Int, _ message: String) -> Refusal {
            Refusal(status: status, message: message, encoding: encoding)
        }
        guard !head.headers.contains(name: "origin") else {
            throw refusal(403, "The request has an Origin header: pages in browsers may not send to the agent.")
        }
        let hosts = head.headers["host"]
        guard hosts.count == 1 || isSocket else { throw refusal(400, "The request must have one Host header.") }
        guard isSocket || Self.isLoopback(hosts[0]) else {
            throw refusal(403, "The Host header names another machine: send to 127.0.0.1, [::1] or localhost.")
        }
        let path = head.uri.prefix { $0 != "?" }
        guard let signal = OTLPSignal.allCases.first(where: { $0.path == path }) else {
            throw refusal(
                404,
                "Nothing is here. The agent takes OTLP at "
                    + OTLPSignal.allCases.map(\.path).joined(separator: " and ") + ".")
        }
        guard head.method == .POST else { throw refusal(405, "Send it with POST.") }
        guard let encoding else {
            let expected = OTLPEncoding.allCases.map(\.contentType).joined(separator: " or ")
            throw refusal(415, "Content-Type must be \(expected).")
        }
        switch head.headers["content-encoding"].map({ $0.lowercased() }) {
        case [], [""], ["identity"]: isCompressed = false
        case ["gzip"], ["x-gzip"]: isCompressed = true
        default: throw refusal(415, "Content-Encoding must be gzip, once, or absent.")
        }
        if let length = head.headers.first(name: "content-length").flatMap(Int.init), length > limit {
            throw refusal(413, Self.tooLarge(limit))
        }
        self.signal = signal
        self.encoding = encoding
    }

    static func tooLarge(_ limit: Int) -> String {
        "The body has more than \(limit) bytes. Send less at a time, or raise bodyBytes of the agent's source."
    }

    /// A name or an address, with or without a port.
    private static func isLoopback(_ host: String) -> Bool {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            let port = host[host.index(after: end)...]
            return (port.isEmpty || port.hasPrefix(":"))
                && LoopbackHost.contains(String(host[host.index(after: host.startIndex)..<end]))
        }
        return LoopbackHost.contains(String(host.prefix { $0 != ":" }))
    }
}
