import CollectorTunables
import Registry

/// Periodic tasks of a serving collector: it checks clock and disk, writes notices, and removes what exceeds limits.
package struct Housekeeping: Sendable {
    private let retention: RecordRetention
    private let disk: DiskWatch?
    private let files: RecordFileWatch?
    private let certificates: CertificateWatch?
    private let tokens: TokenWatch?
    private let notices: NoticeService
    private let silence: SilenceWatch?
    private let otlpDevices: OTLPDeviceExpiry?
    private let erasure: DeviceErasure?
    private let salvage: @Sendable (_ again: Bool) async -> Int

    /// - Parameters:
    ///   - disk: `nil` where records are not on this machine.
    ///   - silence: `nil` reports no silent devices.
    ///   - otlpDevices: `nil` removes none.
    ///   - erasure: `nil` erases no deleted devices.
    ///   - salvage: replaces record files that were found damaged. With `again`, also those that could not be repaired
    ///     before. Returns their number.
    package init(
        retention: RecordRetention, disk: DiskWatch? = nil, files: RecordFileWatch? = nil,
        certificates: CertificateWatch? = nil, tokens: TokenWatch? = nil, notices: NoticeService,
        silence: SilenceWatch? = nil, otlpDevices: OTLPDeviceExpiry? = nil,
        erasure: DeviceErasure? = nil,
        salvage: @escaping @Sendable (_ again: Bool) async -> Int = { _ in 0 }
    ) {
        self.salvage = salvage
        self.files = files
        self.certificates = certificates
        self.tokens = tokens
        self.retention = retention
        self.disk = disk
        self.notices = notices
        self.silence = silence
        self.otlpDevices = otlpDevices
        self.erasure = erasure
    }

    /// Runs until the task is cancelled. Cancelling leaves the disk consistent.
    package func run(on clock: some Clock<Duration>) async {
        var looks = 0
        while !Task.isCancelled {
            await disk?.look()
            await certificates?.look()
            let isPass = looks % Tunables.Housekeeping.looksPerPass == 0
            if isPass { await files?.look() }
            // The notice of a replaced file ends at once.
            if await salvage(isPass) > 0 { await files?.look() }
            if isPass {
                await tokens?.look()
                await retention.pass()
                await otlpDevices?.pass()
            } else {
                await retention.watchClock()
            }
            await retention.purgeWhatIsAsked()
            if looks % Tunables.Housekeeping.looksPerSilence == 0 {
                await silence?.look()
                await erasure?.pass()
                await notices.followRecordQuotas()
            }
            await notices.flush()
            looks += 1
            do { try await clock.sleep(for: Tunables.Housekeeping.interval) } catch { break }
        }
        await notices.flush()
    }
}
