/// The turn at housekeeping in which the present task works; `nil` where only one collector has the data.
///
/// Several collectors with one registry work in turns, each with a new number. A collector may freeze in its turn and
/// go on when another has the next one. So each transaction of such work is committed only while the number is the
/// newest: the registry's sessions and the record store's drops check it.
///
/// Code off the task, such as a closure for another thread, does not see the value and has to carry it along.
package enum HousekeepingTerm {
    @TaskLocal package static var current: Int64?
}

extension StoreError {
    /// Another collector has the turn.
    package static let turnIsOver = StoreError(
        .shuttingDown, "another collector does the housekeeping now.")
}
