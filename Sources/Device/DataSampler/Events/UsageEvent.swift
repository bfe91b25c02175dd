import WireModel

/// Something the library's own use is told by: the usage events of (intune), recorded like the application's own.
public struct UsageEvent: Sendable {
    /// How something that was tried ended.
    public enum Outcome: Sendable {
        /// It did what was asked.
        case succeeded
        /// It did not.
        case failed
    }

    let type: WireEventType
    let name: String
    let outcome: Outcome?
    let duration: Duration?

    private init(_ type: WireEventType, _ name: String, _ outcome: Outcome? = nil, _ duration: Duration? = nil) {
        self.type = type
        self.name = name
        self.outcome = outcome
        self.duration = duration
    }

    /// The program was launched. ``DataSampler/start()`` records one by itself where analytics is enabled; an application records another
    /// only for a launch of its own, such as that of a window.
    public static let launch = UsageEvent(.launch, "launch")

    /// An enrollment was asked for and answered.
    ///
    /// - Parameter duration: from the call to its answer; not negative.
    public static func enrollmentCall(_ outcome: Outcome, duration: Duration) -> UsageEvent {
        UsageEvent(.enrollmentCall, "enrollment", outcome, duration)
    }

    /// The application asked the library to do something.
    ///
    /// - Parameters:
    ///   - name: what, 1 to 256 bytes of UTF-8, such as `logs.send`.
    ///   - duration: how long it took, not negative; `nil`: not measured.
    public static func sdkAction(_ name: String, _ outcome: Outcome, duration: Duration? = nil) -> UsageEvent {
        UsageEvent(.sdkAction, name, outcome, duration)
    }
}

extension AnalyticsEvent {
    /// - Throws: `invalidEvent` naming the bound that was passed.
    package init(_ usage: UsageEvent, attributes: [String: EventValue] = [:]) throws(DataSamplerError) {
        var message = WireEvent()
        message.type = usage.type
        message.name = usage.name
        switch usage.outcome {
        case .succeeded: message.succeeded = true
        case .failed: message.succeeded = false
        case nil: break
        }
        if let duration = usage.duration {
            let (seconds, attoseconds) = duration.components
            guard duration >= .zero, seconds < 1 << 40 else {
                throw DataSamplerError(
                    .invalidEvent, "the duration is \(duration): it must not be negative, nor over thirty thousand years")
            }
            message.durationMicroseconds = UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
        }
        try self.init(message, adding: attributes)
    }
}
