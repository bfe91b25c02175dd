/// What a serving collector does from time to time: watches clock and disk, writes notices, removes what is over its
/// limits.
package struct Housekeeping: Sendable {
    private let retention: RecordRetention
    private let disk: DiskWatch
    private let files: RecordFileWatch?
    private let certificates: CertificateWatch?
    private let tokens: TokenWatch?
    private let notices: NoticeService
    private let silence: SilenceWatch?
    private let salvage: @Sendable (_ again: Bool) async -> Int

    /// How often clock and disk are looked at, and whether an administrator has asked for something.
    package static let interval = Duration.seconds(10)
    /// At which of these looks records are removed, and record files looked at: at the first, and then every hour.
    package static let looksPerPass = 360

    /// At which of these looks silent devices are looked for: every minute.
    package static let looksPerSilence = 6

    /// - Parameters:
    ///   - silence: `nil`: nobody is told of silent devices.
    ///   - salvage: replaces record files that were found damaged, those too that could not be mended before if
    ///     `again`; says how many.
    package init(
        retention: RecordRetention, disk: DiskWatch, files: RecordFileWatch? = nil,
        certificates: CertificateWatch? = nil, tokens: TokenWatch? = nil, notices: NoticeService,
        silence: SilenceWatch? = nil, salvage: @escaping @Sendable (_ again: Bool) async -> Int = { _ in 0 }
    ) {
        self.salvage = salvage
        self.files = files
        self.certificates = certificates
        self.tokens = tokens
        self.retention = retention
        self.disk = disk
        self.notices = notices
        self.silence = silence
    }

    /// Until the task is cancelled; cancelling it leaves everything on disk consistent.
    package func run(on clock: some Clock<Duration>) async {
        var looks = 0
        while !Task.isCancelled {
            await disk.look()
            await certificates?.look()
            let isPass = looks % Self.looksPerPass == 0
            if isPass { await files?.look() }
            // The notice of a file that was replaced ends at once.
            if await salvage(isPass) > 0 { await files?.look() }
            if isPass {
                await tokens?.look()
                await retention.pass()
            } else {
                await retention.watchClock()
            }
            await retention.purgeWhatIsAsked()
            if looks % Self.looksPerSilence == 0 { await silence?.look() }
            await notices.flush()
            looks += 1
            do { try await clock.sleep(for: Self.interval) } catch { break }
        }
        await notices.flush()
    }
}
