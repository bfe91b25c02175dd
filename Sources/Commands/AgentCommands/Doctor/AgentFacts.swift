import CommandKit
import ControlSocket
import DataSampler
import FoundationEssentials
import Glibc
import TelemetryBasics
import Transmitter
import WireModel

/// What `doctor` finds out before it judges.
struct AgentFacts {
    /// Wall clock, microseconds since 1970.
    var now: Int64
    /// When this program was built, as far as its file tells; microseconds since 1970.
    var programBuilt: Int64?
    var directory: String { place.path }
    /// The configuration file in use.
    var configurationFile: String?
    var collectorURL: String?
    /// Why a start would refuse the configuration; `nil` if it would not.
    var configurationFault: String?
    /// Why this user may not look into the data directory, or ask the agent; `nil` if it may.
    var denial: AccessDenial?
    /// Why an agent of this user could not use the data directory; `nil` if it could, or it is not known.
    var directoryFault: String?
    /// Of the running agent, or of what is on disk; `nil` if neither can be had.
    var status: AgentStatus?
    /// Why there is no status.
    var statusFault: String?
    var files: DiagnosisFiles?
    /// `nil` if there was no way to walk.
    var probe: CollectorProbe?
    var gpsdObstacle: String?
    /// As it is seen from outside.
    let place: DirectoryFacts
    /// Who may ask the running agent beside its user.
    var group: String?

    /// - Parameter flags: the settings' flags by name.
    /// - Throws: `.usage` if not even the data directory is known.
    static func gather(flags: [String: String], within limit: Duration) async throws(CommandError) -> AgentFacts {
        let layers = try SettingLayers<AgentSettings>(flags: flags)
        let access = DeviceAccess(try AgentSettings(layers, needsCollector: false))
        let now = SystemClock.wallMicroseconds()
        var facts = AgentFacts(now: now, place: DirectoryFacts(access.configuration.directory))
        facts.programBuilt = ClockFacts.programBuilt
        facts.configurationFile = flags["config"] ?? layers.environment["WS1_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        facts.examineDirectory()
        await facts.ask(access)

        var configuration = access.configuration
        do throws(CommandError) {
            let settings = try AgentSettings(layers, needsCollector: true)
            configuration = settings.configuration
            do throws(CommandError) { try settings.checkDirectory() } catch { facts.directoryFault = error.message }
        } catch {
            facts.configurationFault = error.message
            configuration.applyProxy(from: layers.environment)
            if configuration.collectorURL.isEmpty {
                configuration.collectorURL = facts.status?.sampler.collector.url ?? ""
            }
        }
        facts.collectorURL = configuration.collectorURL.isEmpty ? nil : configuration.collectorURL
        let files = DiagnosisFiles(configuration, now: now)
        facts.files = files
        if facts.collectorURL != nil {
            do throws(DataSamplerError) {
                facts.probe = try await CollectorProbe.walk(configuration, files, within: limit)
            } catch { facts.configurationFault = facts.configurationFault ?? error.message }
        }
        if files.isLocationWanted || facts.status?.sampler.location?.isWanted == true {
            facts.gpsdObstacle = configuration.gpsdObstacle
        }
        return facts
    }

    private mutating func ask(_ access: DeviceAccess) async {
        var request = WireControlRequest()
        request.status = WireControlStatus()
        do throws(CommandError) {
            let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
                try .json(try await sampler.status())
            }
            status = try StatusCommand.decode(AgentStatus.self, answer.json)
        } catch { statusFault = error.message }
    }

    private mutating func examineDirectory() {
        let socket = "\(directory)/\(ControlSocketPath.name)"
        // A group that may ask the agent may enter the directory and nothing more.
        if Self.isDenied(directory, X_OK) {
            denial = AccessDenial(directory)
        } else if Paths.exists(socket), Self.isDenied(socket, R_OK | W_OK) {
            denial = AccessDenial(socket)
        } else if !Paths.exists(socket), Self.isDenied(directory, R_OK | W_OK) {
            denial = AccessDenial(directory)
        }
        var mark = stat()
        if stat(socket, &mark) == 0, mark.st_mode & S_IWGRP != 0 { group = AccessDenial.groupName(mark.st_gid) }
    }

    private static func isDenied(_ path: String, _ mode: Int32) -> Bool {
        faccessat(AT_FDCWD, path, mode, AT_EACCESS) != 0 && errno == EACCES
    }
}
