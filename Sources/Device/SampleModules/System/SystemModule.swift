import Logging
import WireModel

/// The System module: the machine's identity, load and free resources.
///
/// It is cheap, because it may run every second: a dozen small files in `/proc`, most through open descriptors, and one
/// `statvfs` per disk. Firmware answers for sensors and power supplies, so they are asked at most every ``slowSeconds``
/// seconds, and the last answer is reused in between.
package struct SystemModule: SampleModule {
    /// The longest time that power and temperature readings are reused, in seconds.
    static let slowSeconds: UInt64 = 10
    /// How often new sensors and changes of the identity are searched, in seconds.
    static let discoverySeconds: UInt64 = 60
    /// The identity is sent at least this often, in seconds.
    static let identitySeconds: UInt64 = 3_600
    private static let smallFile = 64 * 1024
    /// Enough for `/proc/stat`, `/proc/diskstats` and the mount table of the largest machines.
    private static let largeFile = 4 * 1024 * 1024

    package let name = SampleModuleName.system

    private var reader: FileReader
    private var identityReader = SystemIdentityReader()
    private var fileSystems = FileSystemReader()
    private var blockDevices = BlockDeviceReader()
    private var sensors = TemperatureSensors()

    private var previousTime: SampleTime?
    private var previousStat: ProcStat?
    private var identity: WireSystemIdentity?
    private var identitySent: UInt64?
    private var discovered: UInt64?
    private var slowRead: UInt64?
    private var power: WirePower?
    private var temperatures: [WireTemperature] = []
    private var processStart: UInt64?
    private let program: (any SelfFiguresSource)?

    /// - Parameter program: reports what only the program itself knows of its cost; `nil` for none.
    package init(host: any HostSource, logger: Logger, program: (any SelfFiguresSource)? = nil) {
        reader = FileReader(host: host, logger: logger)
        self.program = program
    }

    package mutating func sample(at time: SampleTime) -> SampleResult {
        .sample(Sample(kind: .sampleSystem, module: name.rawValue, body: read(at: time).encoded))
    }

    /// Takes one sample as a message.
    mutating func read(at time: SampleTime) -> WireSystemSample {
        let now = time.sinceBootMicroseconds
        var sample = WireSystemSample()
        sample.uptimeSeconds = now / 1_000_000
        if let previousTime, now > previousTime.sinceBootMicroseconds {
            sample.intervalMicroseconds = now - previousTime.sinceBootMicroseconds
        }

        let stat = reader.parse(ProcStat.path, maximumBytes: Self.largeFile, keepOpen: true) { bytes in
            let stat = ProcStat(bytes)
            return stat.all == nil ? nil : stat
        }
        let discovers = Self.isDue(&discovered, every: Self.discoverySeconds, now: now)
        addIdentity(to: &sample, stat: stat, discovers: discovers, now: now)
        let figures = reader.host.processFigures()
        if let stat { addProcessors(to: &sample, stat: stat, ticksPerSecond: figures.ticksPerSecond) }
        addLoad(to: &sample)
        addPressure(to: &sample)
        addMemory(to: &sample)
        sample.fileSystems = fileSystems.read(&reader, maximumBytes: Self.largeFile)
        sample.blockDevices = blockDevices.read(&reader, maximumBytes: Self.largeFile, now: now)
        addSlow(to: &sample, discovers: discovers, now: now)
        addSelf(to: &sample, figures, now: now)

        previousTime = time
        previousStat = stat
        return sample
    }

    private mutating func addIdentity(
        to sample: inout WireSystemSample, stat: ProcStat?, discovers: Bool, now: UInt64
    ) {
        let coresChanged = stat.map { UInt32($0.cores.count) != identity?.logicalCores } ?? false
        if discovers || coresChanged {
            let current = identityReader.read(&reader, stat: stat)
            if identity.map(current.differs(from:)) ?? true { identitySent = nil }
            identity = current
        }
        if let identity, Self.isDue(&identitySent, every: Self.identitySeconds, now: now) { sample.identity = identity }
    }

    private mutating func addProcessors(to sample: inout WireSystemSample, stat: ProcStat, ticksPerSecond: UInt64) {
        let previous = previousStat
        if let times = stat.all?.sinceBoot(ticksPerSecond: ticksPerSecond) { sample.cpuTime = times }
        if let all = stat.all, let before = previous?.all, let shares = all.shares(since: before, number: 0) {
            sample.cpu = shares
        }
        if let before = previous?.cores {
            sample.cores.reserveCapacity(stat.cores.count)
            var shares: [WireCPUShares] = []
            shares.reserveCapacity(stat.cores.count)
            // Both lists ascend by number, so one walk finds the cores that were online both times.
            var index = 0
            for core in stat.cores {
                while index < before.count, before[index].number < core.number { index += 1 }
                guard index < before.count, before[index].number == core.number else { continue }
                if let share = core.times.shares(since: before[index].times, number: core.number) {
                    shares.append(share)
                }
            }
            sample.cores = shares
        }

        var activity = WireActivity()
        if let delta = Self.delta(stat.contextSwitches, previous?.contextSwitches) { activity.contextSwitches = delta }
        if let delta = Self.delta(stat.interrupts, previous?.interrupts) { activity.interrupts = delta }
        if let delta = Self.delta(stat.processesCreated, previous?.processesCreated) {
            activity.processesCreated = delta
        }
        if let created = stat.processesCreated { activity.processesCreatedSinceBoot = created }
        if let running = stat.running { activity.running = running }
        if let blocked = stat.blocked { activity.blocked = blocked }
        if activity != WireActivity() { sample.activity = activity }
    }

    /// `nil` if there is no earlier value, or if the counter went back.
    private static func delta(_ now: UInt64?, _ before: UInt64?) -> UInt64? {
        guard let now, let before, now >= before else { return nil }
        return now - before
    }

    private mutating func addLoad(to sample: inout WireSystemSample) {
        let load = reader.parse(LoadAverageFile.path, maximumBytes: Self.smallFile, keepOpen: true) {
            LoadAverageFile($0)
        }
        guard let load else { return }
        var message = WireLoadAverage()
        message.oneMinute = load.oneMinute
        message.fiveMinutes = load.fiveMinutes
        message.fifteenMinutes = load.fifteenMinutes
        sample.load = message
    }

    private mutating func addPressure(to sample: inout WireSystemSample) {
        var pressure = WirePressure()
        if let cpu = pressureResource("cpu") { pressure.cpu = cpu }
        if let memory = pressureResource("memory") { pressure.memory = memory }
        if let io = pressureResource("io") { pressure.io = io }
        if pressure.hasCpu || pressure.hasMemory || pressure.hasIo { sample.pressure = pressure }
    }

    private mutating func pressureResource(_ name: String) -> WirePressureResource? {
        guard let file = reader.pressure(of: name) else { return nil }
        var resource = WirePressureResource()
        if let some = file.some { resource.some = WirePressureLine(some) }
        if let full = file.full { resource.full = WirePressureLine(full) }
        return resource
    }

    private mutating func addMemory(to sample: inout WireSystemSample) {
        let memory = reader.parse(MemInfo.path, maximumBytes: Self.smallFile, keepOpen: true) {
            WireMemory(MemInfo($0))
        }
        if let memory { sample.memory = memory }
    }

    private mutating func addSlow(to sample: inout WireSystemSample, discovers: Bool, now: UInt64) {
        if discovers { sensors.discover(&reader) }
        if Self.isDue(&slowRead, every: Self.slowSeconds, now: now) {
            temperatures = sensors.read(&reader)
            power = PowerSupplyReader.read(&reader)
        }
        sample.temperatures = temperatures
        if let power { sample.power = power }
    }

    private mutating func addSelf(to sample: inout WireSystemSample, _ figures: ProcessFigures, now: UInt64) {
        let memory = reader.parse(ProcSelfMemory.path, maximumBytes: Self.smallFile, keepOpen: true) {
            ProcSelfMemory($0)
        }
        let io = reader.parse(ProcSelfIO.path, maximumBytes: Self.smallFile, keepOpen: true) { ProcSelfIO($0) }
        if processStart == nil, figures.ticksPerSecond > 0 {
            let stat = reader.parse(ProcSelfStat.path, maximumBytes: Self.smallFile) { ProcSelfStat($0) }
            processStart = stat.flatMap { stat in
                let (scaled, overflow) = stat.startTicks.multipliedReportingOverflow(by: 1_000_000)
                return overflow ? nil : scaled / figures.ticksPerSecond
            }
        }
        // These three are not optional on the wire. Without all of them the message would contain invented zeros.
        guard let cpuTime = figures.cpuTimeMicroseconds, let memory, let processStart, now >= processStart else {
            return
        }
        let (resident, overflow) = memory.residentPages.multipliedReportingOverflow(by: figures.pageSize)
        guard !overflow else { return }
        var cost = WireSelfCost()
        cost.cpuTimeMicroseconds = cpuTime
        cost.residentBytes = resident
        cost.uptimeMicroseconds = now - processStart
        if let user = figures.userMicroseconds { cost.cpuUserMicroseconds = user }
        if let system = figures.systemMicroseconds { cost.cpuSystemMicroseconds = system }
        if let io {
            if let read = io.readBytes { cost.readBytes = read }
            cost.writtenBytes = io.writtenBytes
        }
        if let openFiles = figures.openFiles { cost.openFiles = openFiles }
        if let program { cost.add(program.selfFigures()) }
        sample.self_p = cost
    }
}

extension WirePressureLine {
    fileprivate init(_ line: PressureFile.Line) {
        self.init()
        average10Seconds = line.average10
        average60Seconds = line.average60
        average300Seconds = line.average300
        totalMicroseconds = line.total
    }
}
