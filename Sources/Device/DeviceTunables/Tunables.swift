/// The values of the device that trade one thing for another: times, counts and sizes that somebody may want to tune.
///
/// Each has its unit in its name or type, its reason, and the range in which the code around it works. Limits of
/// formats and of the wire are not here, because both sides must agree on them; nor are defaults of settings, which a
/// profile or a configuration decides. This target depends on nothing, so every target of the device can read it.
package enum Tunables {
    /// Repeats of requests that failed: batches, closes, uploads and profiles.
    package enum Retry {
        /// The window of the first wait. Short, because most failures are a connection that broke. Range: 0.1 to 60 s.
        package static let firstWindow = Duration.seconds(1)
        /// The greatest window; windows double up to it. A collector that is back gets records within five minutes, and
        /// an outage costs a small request in 150 to 300 s, a profile one in up to 300 s. Range: `firstWindow` to 1 h.
        package static let longestWindow = Duration.seconds(300)
        /// A longer Retry-After is shortened to this, so a mistaken proxy cannot silence a device for a day. Range: 60
        /// s to 24 h.
        package static let longestRetryAfter = Duration.seconds(3600)
        /// The first and the greatest window after the collector rejected this device. A reinstated device returns
        /// within a quarter of an hour. A thousand revoked devices make less than two small requests per second. Range:
        /// 1 s to 1 h.
        package static let firstForbiddenWindow = Duration.seconds(60)
        package static let longestForbiddenWindow = Duration.seconds(900)
        /// The greatest window after trouble of this device's own disk. Nobody else is asked meanwhile, so a disk that
        /// works again is used within seconds. Range: 1 s to `longestWindow`.
        package static let longestLocalWindow = Duration.seconds(10)
        /// The pause before something that cannot recover by itself is tried again: an administrator may have acted.
        /// Range: 60 s to 1 h.
        package static let lookAgain = Duration.seconds(300)
        /// The time from a failed renewal of a credential to the next attempt. A renewal has days. Range: 1 min to 24
        /// h.
        package static let credentialMicroseconds: UInt64 = 3600 * 1_000_000
    }

    /// What is sent, and when a closed way is tried again.
    package enum Transmission {
        /// The least bytes of a part. Parts shrink to it after refusals and after trouble of the disk. Smaller parts
        /// cost more in headers than they carry. Range: 1 KiB to the part size of the wire (1 MiB).
        package static let leastPartBytes = 4 * 1024
        /// How often closed gates are checked while something waits. Each check reads a few files. Range: 10 s to 10
        /// min.
        package static let gateLook = Duration.seconds(60)
        /// While the machine is offline, an attempt is made this often: a collector on this machine can be reached all
        /// the same. Range: 1 min to 1 h.
        package static let offlineLookMicroseconds: UInt64 = 900 * 1_000_000
        /// A stalled machine delays samples and logs this long. A longer stall is how the machine is. Range: 10 s to 10
        /// min.
        package static let greatestStallMicroseconds: UInt64 = 60 * 1_000_000
        /// The most consecutive rounds of a close without a result before a pause. Each round narrows the search a
        /// thousandfold, so more rounds mean that somebody answers nonsense. Range: 7 (a search among 2^64 numbers) to
        /// 100.
        package static let greatestCloseRounds = 16
    }

    /// When a position decides on which side of a geofence's edge the device is. A position's accuracy is meant to hold
    /// in 95 of 100 cases, which is two standard deviations.
    package enum Geofences {
        /// A position that is farther from the edge than so many times its accuracy decides at once: six standard
        /// deviations are no noise. Range: `likelyFactor` to 10.
        package static let sureFactor = 3.0
        /// Positions that are farther from the edge than so many times their accuracy decide together. With less, noise
        /// that lasts for minutes, as from reflections, would decide. Range: 1 to `sureFactor`.
        package static let likelyFactor = 2.0
        /// So many likely positions in succession decide. Each more costs an interval of delay. Range: 2 to 10.
        package static let confirmations = 3
        /// Meters: a better accuracy counts as this one, because receivers overstate theirs. Range: 0.1 to 5.
        package static let leastAccuracy = 1.0
    }

    /// Records that the collector refuses again and again.
    package enum Quarantine {
        /// The least seconds between two quarantined records. So a poison record cannot block the rest for ever, and an
        /// outage cannot empty the queue. Range: 10 min to 24 h.
        package static let seconds = 3600.0
        /// The time in which a record was refused and others passed, before the record is to blame. Long enough for a
        /// collector that restarts or a proxy that is set up anew. Range: 1 min to 1 h.
        package static let evidenceMicroseconds: UInt64 = 600 * 1_000_000
        /// The most that one interval between two refusals counts. At half of the evidence, at least three refusals are
        /// needed. Range: up to `evidenceMicroseconds`.
        package static let greatestIntervalMicroseconds: UInt64 = 300 * 1_000_000
    }

    /// Uploads of logs. The size of a chunk is `LogLimits.chunkBytes`, because both sides must agree on it.
    package enum Uploads {
        /// The most open uploads; more are refused. Each costs an entry in a file that is written as a whole. Range: 1
        /// to 1000. The collector refuses more than 100 per device.
        package static let maximumOpen = 64
        /// The most ended uploads that are remembered, for those who ask how they ended. Range: 1 to 1000.
        package static let maximumEnded = 32
        /// An upload that has not ended by this age fails. The collector forgets it then, too. Range: 1 to 7 days.
        package static let greatestAgeMicroseconds: Int64 = 7 * 86_400 * 1_000_000
        /// How often the collector may lack stored chunks at an upload's end. A collector that loses them does not get
        /// them for ever. Range: 1 to 10.
        package static let maximumIncompletes = 3
        /// The wait for room where the answer does not say when. Nobody informs a device that a quota was raised.
        /// Range: 10 s to 5 min.
        package static let roomPause = Duration.seconds(60)
        /// The greatest window and the longest Retry-After of an upload that the collector has no room for. So the
        /// device asks again within six minutes; one request of one upload costs little. Range: 10 s to 1 h.
        package static let longestRoomWindow = Duration.seconds(60)
        package static let longestRoomRetryAfter = Duration.seconds(300)
        /// The longest wait of the uploader. Waits are measured by a clock that suspend stops. Range: 1 min to 24 h.
        package static let longestPause = Duration.seconds(3600)
        /// The timeout of a request with a chunk: enough for a megabyte at 30 kbit/s. Range: 60 s to 1 h.
        package static let requestTimeout = Duration.seconds(300)
    }

    /// When the profile is fetched.
    package enum Profile {
        /// The regular interval in seconds. The collector announces a newer revision with each answer, so this serves
        /// devices that send nothing. Range: 10 min to 24 h.
        package static let regularSeconds = 8.0 * 3600
        /// The interval in seconds while telemetry is disabled. Only this request can end that state, and each one
        /// fetches commands, too. It is short enough for the person who enables telemetry, and each request is small
        /// (304). Range: 1 min to 8 h.
        package static let disabledSeconds = 900.0
    }

    /// Commands of the collector.
    package enum Commands {
        /// The most entries of the ledger; further commands are answered `notNow`. An entry cannot be dropped before it
        /// expires, because its repeat would then run again. Range: 16 to 10,000.
        package static let maximumEntries = 256
        /// A repeat is answered at most this often, because answers and repeats cross. Range: 1 s to 10 min.
        package static let answerAgainMicroseconds: Int64 = 60_000_000
        /// The pause before a command that could not run yet is tried again. Range: 1 s to 1 h.
        package static let retryMicroseconds: Int64 = 60_000_000
        /// The longest pause before a message that the host program did not take is delivered again. The pause begins
        /// with `retryMicroseconds` and doubles, because each attempt is reported. Range: 1 min to 24 h.
        package static let longestRetryMicroseconds: Int64 = 3600 * 1_000_000
        /// How long the host program may take for one message before the call is cancelled. Longer than the agent's
        /// notice hook may run. Range: 1 min to 1 h.
        package static let messageLimit = Duration.seconds(600)
        /// How long an ended command is kept after it expired, so a late repeat does not count as new. Range: 10 min to
        /// 7 days.
        package static let keptMicroseconds: Int64 = 3600 * 1_000_000
        /// The longest interval in seconds at which a device with nothing to send asks for commands, unless it
        /// transmits more rarely or a budget slows it down. Range: 1 min to 24 h.
        package static let longestPollSeconds = 900.0
        /// The least time between two questions because the collector rang, in microseconds. Shorter would let a forged
        /// ring cost more. Range: 100 ms to 1 min.
        package static let ringMicroseconds: UInt64 = 1_000_000
        /// How often work that failed on this device is repeated: the ledger's file, the plan of an upload. Range: 1 s
        /// to 10 min.
        package static let lookAgain = Duration.seconds(60)
    }

    /// Where the device is.
    package enum Location {
        /// How often the position is compared with geofences. A car passes a fence of 300 m in it. Range: 1 s to 10
        /// min.
        package static let geofenceInterval = Duration.seconds(10)
    }

    /// The queue on disk.
    package enum Queue {
        /// The most corrupt files that are kept for those who examine them. The oldest goes first. Each is as large as
        /// the queue. Range: 1 to 10.
        package static let keptCorruptFiles = 2
        /// The most ended epochs that wait to be closed. In older ones, waiting records count as unverifiable. More
        /// than the 30 that an attacker can cause in a day. Range: 30 to 1000.
        package static let closingEpochs = 32
        /// The most entries of settled epochs, for status. Range: 1 to 100.
        package static let keptSettledEpochs = 8
        /// Bytes to which the WAL is allocated: `checkpointPages` of 4 KiB and the largest transactions. Range: 5 to 64
        /// MiB.
        package static let walBytes: Int64 = 8 << 20
        /// Pages in the WAL after which it is moved into the file: 4 MiB. More pages cost fewer writes and more disk.
        /// Range: 100 to what fits into `walBytes` beside a transaction.
        package static let checkpointPages = 1000
        /// Approximate bytes of records that one transaction inserts or removes. Larger ones block readers longer.
        /// Range: 64 KiB to 4 MiB.
        package static let transactionBytes = 1 << 20
        /// The most records of one transaction, for the same reason. Range: 4 to 100,000.
        package static let transactionRecords = 8192
        /// Bytes that acknowledgements may remove before they are committed by themselves. After a crash that many are
        /// sent again. Range: 0 to 1 MiB.
        package static let deferredBytes: UInt64 = 256 << 10
        /// Seconds that an acknowledgement waits for another commit, which saves a sync. Range: 1 to 600.
        package static let settleSeconds = 60
        /// Pages that inserts leave free for gaps, ledgers and quarantine, so a full queue can still drop. Range: 16 to
        /// 1000.
        package static let reservePages = 32
        /// Milliseconds between two steps of a conversion to sealed or plain records, in which others get their turn.
        /// Each step converts a quarter of a transaction. Range: 10 to 60,000.
        package static let conversionStepMilliseconds = 250
        /// Seconds after the opening until a conversion begins, and until one that failed is tried again. Range: 10 to
        /// 3600.
        package static let conversionPauseSeconds = 60
        /// Seconds between two searches for keys that nothing names any more. Range: 3600 to 30 days.
        package static let unusedKeysSeconds = 86_400
    }

    /// The store of log lines.
    package enum Logs {
        /// Bytes of waiting lines; more are dropped and counted. There are two such buffers: one accepts new lines
        /// while the other is written. Range: 1 to 64 MiB.
        package static let waitingBytes = 8 << 20
        /// The number of waiting bytes from which the writer does not wait for the flush interval. Range: 4 KiB to
        /// `waitingBytes`.
        ///
        /// Inlined, because every log call reads it.
        @inlinable package static var urgentBytes: Int { 256 << 10 }
        /// Segments of the ring: removing the oldest removes only a part of it. Range: 2 to 100.
        package static let ringSegments = 5
        /// Milliseconds between two lines about losses, and between two saves of their counts. Range: 100 to 60,000.
        package static let lossLineMilliseconds: Int64 = 1000
        package static let lossSaveMilliseconds: Int64 = 10_000
        /// Milliseconds between two searches for old segments, and for those that dead processes left. Range: 1 min to
        /// 24 h.
        package static let maintenanceMilliseconds: Int64 = 3_600_000
    }
}
