import CommandKit
import DataSampler
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// The agent's settings, each checked. An error names the flag, variable or key that gave the value.
struct AgentSettings: ProgramSettings {
    var configuration = DataSamplerConfiguration(
        directory: StandardDirectory.agent, collectorURL: "", traceLevel: .information)
    var configurationFile: String?
    var enrollment: String?
    var enrollmentToken: String?
    var enrollmentTokenFile: String?
    var accessGroupName: String?
    /// `nil`: a new data directory is encrypted, and another stays as it is.
    var deviceKey: DeviceKeySetting?
    /// `none`: gpsd is not asked.
    var gpsd = DataSamplerConfiguration.standardGPSD
    var noticeHook: String?
    var noticeHookArguments: [String] = []
    var noticeHookSeconds = 10.0
    /// Messages to log once, such as a missing enrollment token that is not needed.
    private(set) var remarks: [String] = []
    /// The group that may ask the running agent and read its logs; `nil` for none.
    private(set) var accessGroup: AccessGroup?

    /// Sets the agent's defaults that differ from the library's.
    init() {
        configuration.beaconInterval = 900
        configuration.lossWindow = 10
        configuration.followsLogind = true
    }

    /// - Parameter needsCollector: whether the command speaks to the collector, and needs its address.
    init(_ layers: SettingLayers<AgentSettings>, needsCollector: Bool) throws(CommandError) {
        self = try layers.read()
        configuration.gpsd = gpsd == Self.noGPSD ? nil : gpsd
        deviceKey?.apply(to: &configuration)
        if needsCollector { try applyCollector(layers) }
        var missing: String?
        let given = try token(layers, missing: &missing)
        if enrollment == nil {
            configuration.enrollmentToken = given
        } else if let given, given != Self.noToken {
            configuration.enrollmentToken = given
        }
        guard needsCollector else { return }
        if let missing, enrollment == nil {
            // An enrolled device runs without a token.
            guard DataSampler.isEnrolled(in: configuration.directory) else {
                throw CommandError(.usage, "\(missing). This device is not enrolled yet and needs one")
            }
            remarks.append("\(missing). This device is enrolled and needs none now")
        }
        configuration.applyProxy(from: layers.environment)
        accessGroup = try layers[\.accessGroupName].map { given throws(CommandError) in try AccessGroup(given) }
        try checkNoticeHook(layers)
        try checkAddresses(layers)
    }

    func changes(from former: AgentSettings) -> [SettingDeclaration] {
        var changes = differences(from: former)
        // Only another token is a change; a token file that was removed after the enrollment is none.
        let isOtherToken =
            configuration.enrollmentToken != nil
            && configuration.enrollmentToken != former.configuration.enrollmentToken
        if isOtherToken, !changes.contains(where: { $0.name.hasPrefix("enrollment") }) {
            let name = enrollment == nil ? "enrollment-token-file" : "enrollment"
            changes += Self.declarations.filter { $0.name == name }
        }
        return changes
    }

    /// Checks that a start can make the data directory, or write to it. A failure is no usage error, because its cause
    /// may be gone at the next start, such as a disk that is read-only for now.
    func checkDirectory() throws(CommandError) {
        var place = configuration.directory
        while access(place, F_OK) != 0, errno == ENOENT, let slash = place.lastIndex(of: "/") {
            place = slash == place.startIndex ? "/" : String(place[..<slash])
            if place == "/" { break }
        }
        // The first name of a relative path is made in the working directory.
        if access(place, F_OK) != 0, errno == ENOENT, !place.contains("/") { place = "." }
        var status = stat()
        if stat(place, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw CommandError(
                    .failed, "the data directory \(configuration.directory) cannot be used: \(place) is no directory")
            }
            guard faccessat(AT_FDCWD, place, W_OK | X_OK, AT_EACCESS) != 0 else { return }
        }
        let why = AccessDenial.text(place, errno) ?? "\(place): \(String(cString: strerror(errno)))"
        throw CommandError(.failed, "the data directory \(configuration.directory) cannot be written: \(why)")
    }

    /// Lets the library check names, digests, addresses and files. Every setting that a start would refuse is refused
    /// here, so that `validate` and `run` cannot differ.
    private func checkAddresses(_ layers: SettingLayers<AgentSettings>) throws(CommandError) {
        do {
            try configuration.validate()
            try configuration.validateFiles()
        } catch {
            let checked: [PartialKeyPath<AgentSettings>] = [
                \.configuration.collectorURL, \.enrollment, \.configuration.proxyURL,
                \.configuration.mqttUser, \.configuration.mqttPasswordFile, \.configuration.mqttName,
                \.configuration.mqttCertificate, \.configuration.mqttKey,
                \.configuration.certificateAuthorityFile,
                \.configuration.clientKeyFile, \.configuration.clientSigningRequestFile,
                \.configuration.moduleIntervals, \.configuration.disabledModules, \.configuration.privacy,
                \.configuration.logRetention, \.configuration.logScrubbing, \.configuration.intakes,
                \.configuration.metricSources,
                \.configuration.expectedBinaryDigest,
                \.gpsd,
            ]
            let origins = checked.compactMap { layers[$0]?.origin }.joined(separator: ", ")
            throw CommandError(.usage, "\(origins): \(error.message)", cause: error)
        }
    }

    /// The address that says that gpsd is not to be asked.
    private static let noGPSD = "none"

    /// The content that systemd hands over in the place of a token file that does not exist.
    private static let noToken = "none"

    /// Without an enrollment file, an enrolled device goes on with what it knows.
    private mutating func applyCollector(_ layers: SettingLayers<AgentSettings>) throws(CommandError) {
        guard enrollment == nil else { return try applyEnrollmentFile(layers) }
        if let remark = configuration.applyLastCollector() { remarks.append(remark) }
        if configuration.collectorURL.isEmpty { try layers.require(\.configuration.collectorURL) }
    }

    /// Address, pins and token of the enrollment file. A token that is given beside it replaces the file's, for
    /// instance when that is used up.
    private mutating func applyEnrollmentFile(_ layers: SettingLayers<AgentSettings>) throws(CommandError) {
        guard let given = layers[\.enrollment], let enrollment else { return }
        if let other = layers[\.configuration.collectorURL] {
            throw CommandError(
                .usage,
                """
                \(given.origin) and \(other.origin) are both given: the enrollment file or URL has the address. Give \
                only one of them
                """
            )
        }
        do throws(DataSamplerError) {
            if let remark = try configuration.apply(enrollment: enrollment) {
                remarks.append("\(given.origin): \(remark)")
            }
        } catch {
            throw CommandError(.usage, "\(given.origin): \(error.message)", cause: error)
        }
    }

    private func checkNoticeHook(_ layers: SettingLayers<AgentSettings>) throws(CommandError) {
        guard let given = layers[\.noticeHook], let noticeHook else {
            guard let arguments = layers[\.noticeHookArguments] else { return }
            throw CommandError(.usage, "\(arguments.origin) is given and no noticeHook: give the program too")
        }
        var status = stat()
        guard noticeHook.hasPrefix("/"), stat(noticeHook, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            access(noticeHook, X_OK) == 0
        else { throw given.wrong("the absolute path of a program that the agent's user may execute") }
    }

    /// - Parameter missing: receives the reason why the file holds no token.
    private func token(_ layers: SettingLayers<AgentSettings>, missing: inout String?) throws(CommandError) -> String? {
        /// The message never shows the text.
        func checked(_ text: String?, _ place: String) -> String? {
            guard let text, !EnrollmentFile.isToken(text) else { return text }
            missing =
                """
                \(place) is no enrollment token: one has at most \(EnrollmentFile.maximumTokenBytes) visible ASCII \
                characters
                """
            return nil
        }
        guard let given = layers[\.enrollmentTokenFile], let path = enrollmentTokenFile else {
            return checked(enrollmentToken, layers[\.enrollmentToken]?.origin ?? "")
        }
        if let token = layers[\.enrollmentToken] {
            throw CommandError(.usage, "\(token.origin) and \(given.origin) are both given: give only one of them")
        }
        guard let content = try? Files<FileError>.read(path, maximumBytes: 4097), content.count <= 4096,
            let line = String(decoding: PlainText.normalized(content), as: UTF8.self).split(separator: "\n").first
        else {
            missing =
                """
                \(given.origin): no enrollment token in \(path): it must be readable and hold one line of at most 4096 \
                bytes
                """
            return nil
        }
        return checked(line.trimmingSpaces, "\(given.origin): the first line of \(path)")
    }
}
