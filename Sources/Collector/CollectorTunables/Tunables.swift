/// The values of the collector that trade one thing for another: times, counts and sizes that somebody may want to
/// tune.
///
/// Each has its unit in its name or type, its reason, and the range in which the code around it works. Limits of
/// formats and of the HTTP API are not here, because clients rely on them; nor are defaults of settings. This target
/// depends on nothing, so every target of the collector can read it.
package enum Tunables {
    /// Regular work of one collector.
    package enum Housekeeping {
        /// The interval for checking clock and disk, and whether an administrator requested something. A full disk is
        /// noticed within it. Range: 1 to 60 s.
        package static let interval = Duration.seconds(10)
        /// Checks per pass: records are removed and record files checked at the first check and then every hour. A pass
        /// reads the list of all files. Range: 6 to 8640.
        package static let looksPerPass = 360
        /// Checks per search for silent devices and per look at the quotas of records: every minute. A notice of
        /// silence is that much late. Range: 1 to 60.
        package static let looksPerSilence = 6
        /// The interval at which the state of health is examined: what people see is at most that old. Range: 1 to 60
        /// s.
        package static let healthInterval = Duration.seconds(10)
    }

    /// Erasing deleted devices.
    package enum Erasure {
        /// The time from the deletion of a device until its records are erased. Every request that was admitted before
        /// the deletion has ended by then. Range: 5 min to 12 h.
        package static let delaySeconds: Int64 = 600
        /// The most devices that are erased at a time; every minute that many. All record files are opened for them.
        /// Range: 1 to 1,000.
        package static let devicesTogether = 200
    }

    /// Packing of record files.
    package enum Packing {
        /// What came from a device in so much time is packed together: six hours. Longer, and less is stored again;
        /// but in lists of the fleet a device's records of that time come one behind the other. Range: 1 h to 1 d.
        package static let stretchMicroseconds: Int64 = 6 * 3_600_000_000
        /// The most records that are packed together, and their bytes as they were stored. To read one of them, all of
        /// its module are read. Range: 256 to 65,536; 64 KiB to 1 MiB.
        package static let records = 4096
        package static let storedBytes = 512 << 10
        /// What a row of `slice` takes besides its records, with its index: it is saved when slices become one.
        package static let rowBytes = 100
        /// The time of one step, and the pause after it. Together they give packing half of a core; what erases or
        /// removes records waits for a step. Range: 0.1 to 10 s each.
        package static let step = Duration.seconds(1)
        package static let pause = Duration.seconds(1)
        /// The time between two looks for days to pack. Range: 1 min to 1 h.
        package static let interval = Duration.seconds(600)
        /// Packing waits unless so many bytes are free besides those of the file: a full disk is worse. Range: 64 MiB
        /// to 64 GiB.
        package static let freeBytes: UInt64 = 256 << 20
    }

    /// Jobs for many devices.
    package enum DeviceJobs {
        /// The wait where nothing can be done. A new job begins within it. Range: 0.1 to 10 s.
        package static let pause = Duration.seconds(1)
        /// The longest wait; waits double up to it while the registry cannot be used. Range: `pause` to 10 min.
        package static let longestPause = Duration.seconds(60)
        /// Pauses between two searches for old jobs: about an hour. Range: 60 to 86,400.
        package static let pausesPerRemoval = 3600
    }

    /// The newest values of devices for Prometheus.
    package enum DeviceMetrics {
        /// The most series of one device. The catalog's metrics together are a few hundred; a device with more must not
        /// crowd out others. Range: 100 to 100,000.
        package static let seriesPerDevice = 1000
        /// The most sources of one device: modules, and applications with samples of their own. Range: 16 to 1000.
        package static let sources = 256
        /// The most metrics by name and unit. Units of custom samples are the devices' choice. Range: 500 to 10,000.
        package static let families = 1000
        /// The most bytes of the labels of a series, without those of its device. Prometheus keeps them for long.
        /// Range: 128 to 65,536.
        package static let labelBytes = 1024
        /// A record may be stored so long after its receipt and still be read: half a minute. Answers pass over those
        /// records once more. One that is later still is missed, and the next sample takes its place. Range: 1 s to
        /// 5 min.
        package static let lateMicroseconds: Int64 = 30_000_000
        /// A new name of a device is shown within it: a minute. Range: 0 to 1 h.
        package static let namesMicroseconds: Int64 = 60_000_000
    }

    /// Sending records on as OTLP.
    package enum Forwarding {
        /// The wait where nothing new has come. A record is forwarded within it. Range: 0.1 to 60 s.
        package static let pause = Duration.seconds(1)
        /// Log records or data points of a request. Receivers bound requests by bytes, and the bytes of so many are
        /// below all usual bounds. Range: 100 to 100,000.
        package static let itemsPerRequest = 10_000
        /// Bytes of a request before compression, about: far below the 64 MiB that receivers are to take. A record that
        /// is larger goes alone. Range: 256 KiB to 32 MiB.
        package static let bytesPerRequest = 2 << 20
        /// Compression costs more time than everything else here, and a low level most of its gain. Range: 1 to 9.
        package static let gzipLevel = 1
        /// The window of the first wait after a failure, and the longest; it doubles in between. The wait is at random
        /// a half to the whole of it. Range: 0.1 s to 1 h.
        package static let firstWindow = Duration.seconds(1)
        package static let longestWindow = Duration.seconds(60)
        /// A longer Retry-After is shortened to this, so that a mistaken proxy does not hold records for a day. Range:
        /// 60 s to 1 d.
        package static let longestRetryAfter = Duration.seconds(3600)
        /// The time limit of a request, its answer included. Range: 5 to 300 s.
        package static let timeout = Duration.seconds(30)
        /// A notice is raised when an endpoint has failed for so long: a restart takes less. Range: 1 to 60 min.
        package static let patience = Duration.seconds(300)
        /// What is known of devices is read again after so long, so a deleted one's records may be forwarded for a
        /// minute more. Range: 1 s to 1 h.
        package static let deviceAge = Duration.seconds(60)
        /// The devices that are kept in memory; each takes about 2 KB. Range: 1000 to 1,000,000.
        package static let devices = 20_000
        /// In a cluster a record may be stored so long after its place in the order of receipt was taken, and is
        /// forwarded all the same: a minute. So long records wait there. Range: 10 s to 10 min.
        package static let lateMicroseconds: Int64 = 60_000_000
    }

    /// Pages that load their live parts again.
    package enum LivePages {
        /// The least seconds between two events of a page. People read no faster. Range: 1 to 60.
        package static let pauseSeconds = 2
        /// The same for topics of the whole fleet. It is at least the number of live pages, so that a busy fleet makes
        /// all pages together load once a second at most, however many people look. Range: `pauseSeconds` to 300.
        package static let fleetPauseSeconds = 10
        /// A page whose contents depend on the time loads at least this often: a device becomes late without any event.
        /// It is at least the number of live pages, too. Range: `fleetPauseSeconds` to 600.
        package static let refreshSeconds = 30
    }

    /// Uploads of logs.
    package enum Uploads {
        /// The time within which an upload must be completed, or it has expired: seven days. Devices give up at the
        /// same age. Range: 7 to 30 days.
        package static let openSeconds: Int64 = 7 * 86_400
        /// The most open uploads of one device. A device opens at most 64. Range: 64 to 1000.
        package static let openPerDevice = 100
        /// How long the chunks of an upload stay listed after none of them is kept, so that a late repeat is
        /// recognized. Range: `openSeconds` to 400 days.
        package static let rememberedSeconds: Int64 = 60 * 86_400
        /// Remembered uploads of one device, without those that still have chunks. Each is a few rows. Range: 100 to
        /// 100,000.
        package static let rememberedPerDevice = 1000
        /// The interval between two searches for what may be forgotten. Range: 60 s to 1 day.
        package static let forgetSeconds: Int64 = 3600
        /// A notice of arrived logs ends so long after the newest of them: a day. Range: 1 h to 30 days.
        package static let arrivalNoticeSeconds: Int64 = 86_400
    }

    /// Senders of OTLP.
    package enum OTLP {
        /// Devices of one request. A gateway collects from some hundreds. Range: 1 to 10,000.
        package static let devicesPerRequest = 1000
        /// Bytes of the data points that one record holds. Larger records make fewer envelopes; a reader decodes a
        /// whole one for one point. Range: 4 KiB to 128 KiB.
        package static let recordBytes = 64 * 1024
        /// Requests with records of one token that are read or stored at a time. Range: 1 to
        /// `IngestBudget.maximumOtherBodies`.
        package static let bodiesPerToken = 32
        /// Log records or data points of one token that the store has before it at a time; a larger request goes alone.
        /// The requests of others wait as long as these take. Range: 1,000 to 1,000,000.
        package static let itemsInStore = 16_384
        /// How long a request waits for its turn before the answer is 503: senders wait ten seconds for an answer.
        /// Range: 1 s to 30 s, less than a connection's limit of an answer.
        package static let longestWait = Duration.seconds(8)
        /// How often what a store could not take is tried again before the answer is 503, and the pause before that:
        /// senders wait ten seconds for an answer. Range: 0 to 5, and 10 ms to 1 s.
        package static let storeAttempts = 3
        package static let storePause = Duration.milliseconds(200)
    }

    /// Record files and their readers.
    package enum Records {
        /// The most older record files that the writer of a stream keeps open. More files cost descriptors, fewer cost
        /// openings. Searching continues through all of them. Range: 8 to 1000.
        package static let writerFiles = 128
        /// The most connections that readers keep open, for the same reason. Range: 8 to 1000.
        package static let readerFiles = 96
        /// Slices that a reader fetches at a time. More cost memory, fewer cost queries. Range: 16 to 10,000.
        package static let slicesPerLook = 512
        /// The least time between two checks of a record file that is damaged and could not be repaired. A check reads
        /// all of it and delays every transaction of its stream. Range: 1 s to 1 h.
        package static let lookAgainAfter = Duration.seconds(60)
    }

    /// Notices that are posted to another server.
    package enum Notices {
        /// Notices in one request. Range: 1 to 100.
        package static let noticesAtOnce = 20
        /// Notices posted in one look, so one flood does not hold up the rest of the work. Range: `noticesAtOnce` to
        /// 1000.
        package static let deliveriesPerLook = 60
    }

    /// Several collectors of one cluster.
    package enum Cluster {
        /// How often a collector reads what others have changed, without a notification. Below the lease of 2 s, so
        /// that a read may need some time. Range: 0.1 to 1 s.
        package static let followInterval = Duration.seconds(1)
        /// Notifications that come faster than this share a read. Range: 10 ms to `followInterval`.
        package static let followPause = Duration.milliseconds(50)
        /// How long a turn of housekeeping lasts unless it is renewed. A collector that died is replaced after it.
        /// Range: three times `turnInterval` to 10 min.
        package static let turnDuration = Duration.seconds(40)
        /// How often a collector renews its turn, or asks for one. Range: 1 s to a third of `turnDuration`.
        package static let turnInterval = Duration.seconds(10)
        /// How often a collector writes that it is there. Range: 1 to 60 s.
        package static let presenceInterval = Duration.seconds(10)
        /// Seconds of silence after which a collector no longer counts: three missed writes, and time for the next.
        /// Range: at least three times `presenceInterval`.
        package static let presenceForgottenSeconds: Int64 = 35
        /// The longest time that a writer waits for more slices before an insert. More slices make fewer parts in
        /// ClickHouse, and each device waits longer. Range: 0 to 200 ms.
        package static let longestGathering = Duration.milliseconds(20)
        /// How often items of a sender of OTLP are written if other collectors claim their chain each time. Then the
        /// sender is asked to try again later. Range: 2 to 20.
        package static let numberingAttempts = 8
        /// The longest pause before they are written again, unless writing itself takes more than a quarter of it: then
        /// it is four times as long as that. Range: 100 ms to 5 s.
        package static let longestPause = Duration.seconds(1)
        /// The first and the longest pause before a replica of ClickHouse that failed is asked again. Range: 1 s to 10
        /// min.
        package static let firstReplicaPause = Duration.seconds(5)
        package static let longestReplicaPause = Duration.seconds(60)
        /// The first and the longest pause before a lost connection for PostgreSQL's notifications is opened again.
        /// Range: 10 ms to 60 s.
        package static let firstListenPause = Duration.milliseconds(100)
        package static let longestListenPause = Duration.seconds(5)
    }
}
