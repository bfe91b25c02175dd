import WireModel

/// What syslog, the journal and the kernel call the priority of a line: a severity and the facility that it comes from.
enum SyslogPriority {
    /// The greatest severity number.
    static let debug = 7
    /// What RFC 3164 says of a message without a priority: notice, from the facility `user`.
    static let assumed = 13
    /// The greatest number that has both: facility 23, severity 7.
    static let greatest = 191

    /// - Parameter severity: 0 to 3 are emergency to error, 5 is notice, 7 is debug.
    static func level(_ severity: Int) -> LogLevel {
        switch severity {
        case ...3: .error
        case 4: .warning
        case 5, 6: .information
        default: .verbose
        }
    }

    /// The name of a facility, as in syslog.conf(5); its number if it has none.
    static func facility(_ number: Int) -> String {
        facilities.indices.contains(number) ? facilities[number] : "\(number)"
    }

    private static let facilities = [
        "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp",
        "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
    ]
}
