/// How long a client may take and how much it may send after a refusal. All bounds are per connection.
package struct ConnectionLimits: Sendable, Equatable {
    /// From connecting (TLS handshake included) to the end of the first request's header, seconds.
    package var firstHeadSeconds: Int64
    /// From one answer to the end of the next request's header, seconds.
    package var idleSeconds: Int64
    /// From a request's header to its last byte, seconds: a body that trickles is refused with 408.
    package var bodySeconds: Int64
    /// How long a body may come as slowly as it likes, seconds; then it must have come at `bodyLeastBytesPerSecond`, or is refused with 408 long
    /// before `bodySeconds`: who sends two bytes and stops holds nothing for long.
    package var bodyGraceSeconds: Int64
    /// Less than the slowest of cellular networks carries.
    package var bodyLeastBytesPerSecond: Int64
    /// From a request's last byte to its answer's, or from one part of a long answer to the next, seconds: a client that does not read is
    /// cut off.
    package var answerSeconds: Int64
    /// How long a connection stays half open after a refusal, so that the answer is not lost to a reset, seconds.
    package var lingerSeconds: Int64
    /// How much unread body is thrown away meanwhile, bytes.
    package var lingerBytes: Int
    /// Connections accepted at a time; the rest wait in the kernel's backlog.
    package var connections: Int
    /// Of these, those that one address may have open; further ones are closed at once. `nil`: half of them, and no limit for addresses of
    /// this machine.
    package var connectionsPerAddress: Int?

    package init(
        firstHeadSeconds: Int64 = 15, idleSeconds: Int64 = 75, bodySeconds: Int64 = 120, bodyGraceSeconds: Int64 = 10,
        bodyLeastBytesPerSecond: Int64 = 1024, answerSeconds: Int64 = 60, lingerSeconds: Int64 = 2,
        lingerBytes: Int = 1024 * 1024, connections: Int = 2048, connectionsPerAddress: Int? = nil
    ) {
        self.firstHeadSeconds = firstHeadSeconds
        self.idleSeconds = idleSeconds
        self.bodySeconds = bodySeconds
        self.bodyGraceSeconds = bodyGraceSeconds
        self.bodyLeastBytesPerSecond = bodyLeastBytesPerSecond
        self.answerSeconds = answerSeconds
        self.lingerSeconds = lingerSeconds
        self.lingerBytes = lingerBytes
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
    }
}
