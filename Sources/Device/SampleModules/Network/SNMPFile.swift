/// `/proc/net/snmp` and `/proc/net/snmp6`: those counters of the Internet protocols since boot that samples contain.
///
/// `/proc/net/netstat` has none of them and costs the kernel more than all the other files together, so it is not read.
struct SNMPFile: Equatable {
    static let path = "/proc/net/snmp"
    static let path6 = "/proc/net/snmp6"

    /// TCP counts IPv4 and IPv6 together.
    var tcpActiveOpens: UInt64?
    var tcpPassiveOpens: UInt64?
    var tcpResetsSent: UInt64?
    /// Connections that ended by a reset (`EstabResets`), nearly always from the other side.
    var tcpResetsReceived: UInt64?
    var tcpRetransmits: UInt64?
    var tcpEstablished: UInt64?
    /// Datagrams that could not be delivered for lack of buffers or a bad checksum. This is the IPv4 count; the IPv6
    /// count is in the other file.
    var udpErrors: UInt64?

    /// Two lines per protocol: the names, then the numbers.
    init(_ bytes: UnsafeRawBufferPointer) {
        var names: UnsafeRawBufferPointer?
        for line in CompleteLines(bytes) {
            guard let head = names else {
                names = line
                continue
            }
            names = nil
            var columns = ByteScanner(head)
            var numbers = ByteScanner(line)
            guard let title = columns.word(), let same = numbers.word(), title.elementsEqual(same) else {
                // The pairs are out of step: this line may hold the names for the next.
                names = line
                continue
            }
            if title.equals("Tcp:") {
                addTCP(&columns, &numbers)
            } else if title.equals("Udp:") {
                udpErrors = Self.column("InErrors", &columns, &numbers)
            }
        }
    }

    private mutating func addTCP(_ columns: inout ByteScanner, _ numbers: inout ByteScanner) {
        while let name = columns.word() {
            let number = numbers.signedNumber().flatMap { UInt64(exactly: $0) }
            if name.equals("ActiveOpens") {
                tcpActiveOpens = number
            } else if name.equals("PassiveOpens") {
                tcpPassiveOpens = number
            } else if name.equals("EstabResets") {
                tcpResetsReceived = number
            } else if name.equals("CurrEstab") {
                tcpEstablished = number
            } else if name.equals("RetransSegs") {
                tcpRetransmits = number
            } else if name.equals("OutRsts") {
                tcpResetsSent = number
            }
        }
    }

    private static func column(_ wanted: StaticString, _ columns: inout ByteScanner, _ numbers: inout ByteScanner)
        -> UInt64?
    {
        while let name = columns.word() {
            let number = numbers.signedNumber()
            if name.equals(wanted) { return number.flatMap { UInt64(exactly: $0) } }
        }
        return nil
    }

    /// `Udp6InErrors` of `/proc/net/snmp6`: a name and a number on each line.
    static func udpErrors6(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.consume("Udp6InErrors") { return scanner.number() }
        }
        return nil
    }
}

/// `/proc/net/sockstat`: sockets of all families in use, IPv6's too.
struct SocketStatistics: Equatable {
    static let path = "/proc/net/sockstat"

    var used: UInt64

    init?(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.consume("sockets: used"), let used = scanner.number() {
                self.used = used
                return
            }
        }
        return nil
    }
}
