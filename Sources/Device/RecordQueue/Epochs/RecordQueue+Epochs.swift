import WireModel

/// Ending epochs and closing them with the collector (QueueFile.swift tells the story).
extension RecordQueue {
    /// Ends the epoch: what waits is set apart (`.restored`, `.reboundSend`) or dropped under the reason, and a new epoch begins at once.
    ///
    /// One transaction, whatever waits; on disk when this returns. What is to be erased is erased before it returns, too; a crash in between
    /// leaves that to the next call of `nextPart`. After `.wiped` the file holds nothing of what was in it, free pages included, but for
    /// numbers and links until the close is settled; where this throws after the epoch has changed, `finishWipe` is what is left to do.
    /// - Throws: `.tooSoon` for `.restored` where the budget of new epochs is spent; `.invalid` for `.salvaged`.
    package func endEpoch(_ end: EpochEnd) async throws(QueueError) {
        try await run(committingFirst: true) { try $0.endEpoch(end) }
        if end == .wiped { try await finishWipe() } else { try await advanceEnded() }
    }

    /// Erases what `endEpoch(.wiped)` gave up, and scrubs the file: for one that threw, or that the program did not survive. Harmless where
    /// that has been done, whatever waits by now.
    package func finishWipe() async throws(QueueError) {
        try await advanceEnded()
        do throws(QueueError) {
            try await run { try $0.scrub() }
        } catch {
            guard error.code == .diskFull else { throw error }
            // Scrubbing writes the file anew, which needs room for its content: erase links first.
            while try await run({ try $0.eraseLinks() }) {}
            try await run { try $0.scrub() }
        }
    }

    /// The next `POST /api/v1/streams/close` for an ended epoch, finer each time; `nil`: nothing is to be closed. Survives restarts.
    ///
    /// Ask whenever a pass begins: epochs also end by salvage, at opening and while running. Costs nothing where there is none.
    package func nextClose() async throws(QueueError) -> WireCloseRequest? {
        try await run { try $0.nextClose() }
    }

    /// Takes over the collector's answer to what `nextClose` gave last. Records above the greatest common number are queued anew, those at
    /// or below it are stored there already; where the collector can no longer tell they count as unverifiable.
    ///
    /// - Parameter answer: to the newest request: it says which points match only in the light of those that were offered.
    /// - Returns: `.again`: ask `nextClose` once more.
    /// - Throws: `.invalid` for an answer that cannot be; nothing changes then.
    package func applyClose(_ answer: WireCloseAnswer) async throws(QueueError) -> CloseProgress {
        let progress = try await run(committingFirst: true) { try $0.applyClose(answer) }
        try await advanceEnded()
        return progress
    }

    /// Clears the binding, after `endEpoch(.reboundSend)` or `.reboundDrop`: whoever is bound next is whom the records are for.
    /// - Returns: what came of binding to `binding`; `nil` where none was given.
    @discardableResult
    package func rebind(to binding: QueueBinding?) async throws(QueueError) -> BindingOutcome? {
        try await run { store in
            try store.unbind()
            return try binding.map { try store.bind(to: $0) }
        }
    }

    /// Erases and moves until nothing is left, in transactions between which others have their turn.
    private func advanceEnded() async throws(QueueError) {
        while try await run({ try $0.advanceEnded() }) {}
    }
}
