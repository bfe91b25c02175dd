import FoundationEssentials
import RecordStore
import WireModel

/// A registry that has lost what it committed last: it was restored from a backup, or its server has failed over.
///
/// It begins a new incarnation, so that devices notice. What was asked for and not done by then is not done any more:
/// it may have been done since, or been withdrawn.
package struct Incarnation {
    package let session: any RegistrySession
    /// Why, in words that people read in lists.
    package let reason: String

    package init(_ session: any RegistrySession, because reason: String) {
        self.session = session
        self.reason = reason
    }

    /// Inside of a transaction.
    /// - Parameters:
    ///   - hasNewCredentialKey: whether credentials that were issued since prove nothing.
    ///   - now: microseconds since 1970.
    /// - Returns: the number of commands that ended with it.
    @discardableResult
    package func begin(
        _ id: IncarnationID = .random(), hasNewCredentialKey: Bool = false, at now: Int64
    ) throws(StoreError) -> Int {
        let ledger = CredentialLedger(connection: session)
        try ledger.endIncarnation(at: now)
        if hasNewCredentialKey { try ledger.renewKey() }
        try session.run("UPDATE meta SET value = ? WHERE name = 'incarnation_id'", id.data)
        try RetentionState(connection: session).withdraw(because: reason, at: now)
        try session.withholdWipes(of: nil, at: now)
        // Some may have been ended since.
        try session.run("DELETE FROM session")
        try DeviceJobRow.endAll(in: session, because: reason, at: now)
        return try session.run(
            """
            UPDATE command SET state = \(WireCommandState.expired.rawValue), detail = ?, updated = ?
            WHERE state NOT IN \(CommandStatus.finalStates)
            """, reason, now)
    }
}
