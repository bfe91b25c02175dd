import RecordStore
import Synchronization
import WireModel

/// The caches of the service, and what makes them right where several collectors have one registry:
///
/// | in memory | what makes it right |
/// |---|---|
/// | `devicesByCredential`, `profiles` | `.device`, `.profile` remove entries; not used without a lease |
/// | `otlpDeviceRows` | as `devicesByCredential` |
/// | `openCommands` | `.commands`, `.device` read a device's again; no command is sent without a lease |
/// | the limit of a device's commands | is counted in the transaction that issues one |
/// | the limits of an organization's commands | are of `openCommands`; what others issue in 2 s may exceed them |
/// | the index of `search` | `.device`, `.observation` read rows again; made anew without a lease |
/// | `hasDeviceJobs` | `.deviceJobs` |
/// | `seen`, `results` | are no copies: they wait to be written, and the change is reported when they are |
/// | `heldSessions` | wait to be written, too; other collectors do not know them meanwhile |
/// | `auditLimit`, `signInLimit`, `signInRefusals` | limit what this collector writes; each collector has its own |
/// | `otlpRefusals` | as `auditLimit` |
/// | `nextForget` | when this collector next cleans up; several may |
/// | `deviceClocks` | what this collector hears from devices |
/// | `recordUsage` | is written to the registry in shares of a quota, and adopts what others wrote |
/// | `logQuotas` | this collector's configuration, which has to be the same in all |
/// | `collectorID`, `incarnationID` | never change while a collector runs |
///
/// Tokens, sessions, quotas of applications, usage, notices and audit entries are read with each use.
extension MetadataService {
    /// Names what the present transaction changes. Once that is committed, this collector forgets it, and all others
    /// learn of it. Call it inside a transaction.
    func recordChanged(_ change: RegistryChange) { changes.insert(change) }

    /// Forgets what was changed and committed here. Commands in memory are the business of who changed them.
    package nonisolated func forget(_ changes: Set<RegistryChange>) {
        var devices: Set<DeviceID> = []
        for change in changes {
            switch change {
            case .device(let id): devices.insert(id)
            case .profile(let organization): profiles.remove(organization)
            case .deviceJobs: hasDeviceJobs.store(true, ordering: .sequentiallyConsistent)
            case .commands, .observation: break
            }
        }
        guard !devices.isEmpty else { return }
        devicesByCredential.remove(all: devices)
        otlpDeviceRows.remove(all: devices)
        for id in devices { search.recordChange(id) }
    }

    /// Applies what any collector of the registry has committed, this one included. Does not wait for the writer.
    /// - Parameter session: only reads, and sees what the news report. Commands are read with it.
    /// - Throws: the registry's error. The same news then have to be given again.
    package nonisolated func apply(
        _ news: RegistryNews, from session: any RegistrySession
    ) throws(StoreError) {
        switch news {
        case .everything:
            forgetCached()
            try openCommands.load(from: session, at: clock.now())
        case .changes(let changes):
            forget(changes)
            var commands: Set<DeviceID> = []
            for change in changes {
                switch change {
                case .device(let id), .commands(let id): commands.insert(id)
                case .observation(let id): search.recordChange(id)
                case .profile, .deviceJobs: break
                }
            }
            try openCommands.load(of: commands, from: session, at: clock.now())
        }
        observers.notify(news)
    }

    /// Any row may have changed. Open commands stay as they are: a device gets one twice at most. Those that are not
    /// known here come with the next read of changes, or after a restart.
    nonisolated func forgetCached() {
        devicesByCredential.removeAll()
        otlpDeviceRows.removeAll()
        profiles.removeAll()
        search.recordUnknownChanges()
        hasDeviceJobs.store(true, ordering: .sequentiallyConsistent)
    }
}
