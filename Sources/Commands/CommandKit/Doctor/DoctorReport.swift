/// One link of the way that `doctor` walks, as it was found.
package struct DoctorCheck: Encodable, Equatable, Sendable {
    package enum State: String, Encodable, Sendable {
        case ok
        /// Works, and somebody should look at it.
        case warning
        case broken
        /// Could not be judged, because an earlier link is broken or this user may not.
        case notReached = "not-reached"
    }

    /// Stable; scripts read it.
    package let name: String
    package let state: State
    /// What was found, in words.
    package let found: String
    /// What mends it, with the command; `nil` where nothing is to be mended.
    package let remedy: String?

    private init(_ name: String, _ state: State, _ found: String, _ remedy: String?) {
        self.name = name
        self.state = state
        self.found = found
        self.remedy = remedy
    }

    package static func ok(_ name: String, _ found: String) -> DoctorCheck { DoctorCheck(name, .ok, found, nil) }

    package static func warning(_ name: String, _ found: String, remedy: String) -> DoctorCheck {
        DoctorCheck(name, .warning, found, remedy)
    }

    package static func broken(_ name: String, _ found: String, remedy: String) -> DoctorCheck {
        DoctorCheck(name, .broken, found, remedy)
    }

    /// - Parameter why: a short reason, such as "tcp is broken".
    package static func notReached(_ name: String, _ why: String) -> DoctorCheck {
        DoctorCheck(name, .notReached, why, nil)
    }
}

/// All links in the order of the walk. `Encodable` is the JSON form of `doctor --json`; keys are only ever added.
package struct DoctorReport: Encodable, Sendable {
    package let checks: [DoctorCheck]
    /// The name of the first broken link; `nil` for none.
    package let broken: String?

    package init(_ checks: [DoctorCheck]) {
        self.checks = checks
        broken = checks.first { $0.state == .broken }?.name
    }

    /// Prints the report: a table and what mends the warnings, or JSON.
    /// - Throws: `.failed` with the first broken link and what mends it; or the output cannot be written.
    package func conclude(json: Bool) throws(CommandError) {
        if json {
            try Output.json(self)
        } else {
            try Output.table([["check", "state", "found"]] + checks.map { [$0.name, $0.state.rawValue, $0.found] })
            for check in checks where check.state == .warning {
                try Output.line("\(check.name): \(check.remedy ?? "")")
            }
        }
        guard let first = checks.first(where: { $0.state == .broken }) else { return }
        throw CommandError(
            .failed,
            """
            the first broken link is \(first.name): \(first.found)
            To mend it: \(first.remedy ?? "")
            """)
    }
}
