import FoundationEssentials
import Logging
import RecordQueue
import TelemetryBasics
import WireModel

/// `<data>/collector.json`: the collector of this directory's last start.
///
/// It is for two things. An enrolled device starts without its enrollment file, because address, pins and authorities
/// are here; the token is not. And a start that is pointed at another collector can say so. Written at a start, once
/// the directory is held and before the collector is asked. If it cannot be written, the start goes on: the next one
/// writes it.
struct LastCollector: KeptState, Equatable {
    static let fileName = "collector.json"

    var url: String
    var certificatePins: [String]
    /// `nil` for none.
    var certificateAuthorities: [String]?

    init(url: String, certificatePins: [String], certificateAuthorities: [String] = []) {
        self.url = url
        self.certificatePins = certificatePins
        self.certificateAuthorities = certificateAuthorities.isEmpty ? nil : certificateAuthorities
    }

    private var address: String { CollectorRoute.normalized(url) }

    /// The change that a start makes in which collector is asked, what is kept, and whether records go there; `nil`:
    /// none.
    fileprivate func change(to present: LastCollector, isEnrolled: Bool) -> String? {
        let arePinsGone = !certificatePins.isEmpty && present.certificatePins.isEmpty
        let pins = present.certificatePins.count
        let keys =
            arePinsGone
            ? "The pins of the last start are not given and hold no longer" : "In force: \(CountText.of(pins, "pin"))"
        guard address != present.address else {
            return arePinsGone ? "\(present.url) is asked as before. \(keys)" : nil
        }
        let change = "\(present.url) is asked instead of \(url). \(keys)"
        guard isEnrolled else { return "\(change). The device enrolls there, and its records go there" }
        return
            "\(change). The device keeps its enrollment and its records. They go only to the collector that enrolled "
            + "it: if that one does not answer at the new address, nothing is sent"
    }
}

extension DataSamplerConfiguration {
    /// Adopts collector, certificate pins and enrollment token from an enrollment file, which `ws1collector
    /// enrollment-file` made. The pins hold from the first contact on.
    ///
    /// An enrolled device needs the file no longer. If it is gone or damaged then, address and pins of the last start
    /// are used.
    ///
    /// - Parameters:
    ///   - directory: as ``directory``.
    ///   - enrollmentFile: the file's path.
    /// - Throws: `invalidConfiguration` if the file is missing, damaged, expired or no enrollment file, and the device
    ///   is not enrolled; with what to do.
    public init(
        directory: String, enrollmentFile: String, traceLevel: TraceLevel = .warning
    ) throws(DataSamplerError) {
        self.init(directory: directory, collectorURL: "", traceLevel: traceLevel)
        _ = try apply(enrollment: enrollmentFile)
    }

    /// Adopts the same from an enrollment URL, which `ws1collector enrollment-file --print-url` printed.
    ///
    /// The URL is a secret: who has it can enroll a device.
    ///
    /// - Parameters:
    ///   - directory: as ``directory``.
    ///   - enrollmentURL: `http[s]://HOST[:PORT][/PREFIX]#...`, or `mqtts://BROKER[:PORT]/PREFIX#...`.
    /// - Throws: `invalidConfiguration` if the URL is cut off, expired or no enrollment URL, and the device is not
    ///   enrolled; with what to do.
    public init(
        directory: String, enrollmentURL: String, traceLevel: TraceLevel = .warning
    ) throws(DataSamplerError) {
        self.init(directory: directory, collectorURL: "", traceLevel: traceLevel)
        // Without this mark it would be the path of a file.
        guard enrollmentURL.contains("://") else {
            throw DataSamplerError(.invalidConfiguration, "the enrollment URL has no https:// or mqtts://")
        }
        _ = try apply(enrollment: enrollmentURL)
    }

    /// - Parameters:
    ///   - source: the path of an enrollment file, or an enrollment URL.
    ///   - now: wall clock, microseconds since 1970.
    /// - Returns: why `source` was not used, if the device is enrolled and does not need it.
    package mutating func apply(
        enrollment source: String, now: Int64 = SystemRecordClock().now().wallTime
    ) throws(DataSamplerError) -> String? {
        let isEnrolled = DataSampler.isEnrolled(in: directory)
        do throws(DataSamplerError) {
            let file = try Self.read(enrollment: source)
            // The collector's clock decides. This look saves a machine that cannot succeed from trying for ever.
            guard isEnrolled || file.expires > now else {
                throw DataSamplerError(
                    .invalidConfiguration,
                    """
                    \(Self.name(of: source)) expired at \(Timestamp.text(file.expires)), and it is \
                    \(Timestamp.text(now)) here. \(Self.enrollmentRemedy); or correct this machine's clock
                    """)
            }
            collectorURL = file.collector
            certificatePins = file.certificatePins.map { $0.base64EncodedString() }
            certificateAuthorities = file.certificateAuthorities.map { $0.base64EncodedString() }
            enrollmentToken = file.token
            return nil
        } catch {
            guard isEnrolled, let last = try LastCollector.file(in: directory).load() else { throw error }
            collectorURL = last.url
            certificatePins = last.certificatePins
            certificateAuthorities = last.certificateAuthorities ?? []
            return "\(error.message). This device is enrolled: address and pins of its last start are used"
        }
    }

    /// Adopts what nobody gave from the last start of an enrolled device: address, certificate pins and authorities.
    /// They hold for another address, too: who changes the address says nothing about the keys. Another enrollment file
    /// replaces them.
    ///
    /// Where nothing is known, nothing changes.
    /// - Returns: what was adopted, for people; `nil` for nothing that needs to be said.
    package mutating func applyLastCollector() -> String? {
        // A start sets a damaged file aside and says so.
        guard DataSampler.isEnrolled(in: directory), let last = try? LastCollector.file(in: directory).load() else {
            return nil
        }
        if certificatePins.isEmpty { certificatePins = last.certificatePins }
        if certificateAuthorities.isEmpty { certificateAuthorities = last.certificateAuthorities ?? [] }
        guard collectorURL.isEmpty else { return nil }
        collectorURL = last.url
        return "no collector is given. This device is enrolled: \(last.url) of its last start is used"
    }

    private static let enrollmentRemedy = "Make another one with `ws1collector enrollment-file`"

    /// How a message names it. A URL is a secret.
    private static func name(of source: String) -> String {
        source.contains("://") ? "the enrollment URL" : "the enrollment file \(source)"
    }

    private static func read(enrollment source: String) throws(DataSamplerError) -> EnrollmentFile {
        func failure(_ why: String, _ cause: (any Error)? = nil) -> DataSamplerError {
            DataSamplerError(.invalidConfiguration, "\(name(of: source)) \(why)", cause: cause)
        }
        func parsed(_ parse: () throws(WireError) -> EnrollmentFile) throws(DataSamplerError) -> EnrollmentFile {
            do throws(WireError) { return try parse() } catch {
                throw failure("\(error.message). \(enrollmentRemedy)", error)
            }
        }
        if source.contains("://") {
            return try parsed { () throws(WireError) in try EnrollmentFile(url: source) }
        }
        let bytes: [UInt8]?
        do throws(FileError) {
            bytes = try Files<FileError>.read(source, maximumBytes: EnrollmentFile.maximumBytes + 1)
        } catch { throw failure("cannot be read: \(error). Make it readable for this program", error) }
        guard let bytes else { throw failure("does not exist. Check the path. \(enrollmentRemedy)") }
        return try parsed { () throws(WireError) in try EnrollmentFile(Data(PlainText.normalized(bytes))) }
    }
}

extension SamplerCore {
    /// Keeps which collector is asked now, and says if it is another than at the last start, or asked without the pins
    /// of then. The address as it is understood counts, so a slash more is no other collector.
    func keepCollector() {
        let directory = configuration.directory
        let file = LastCollector.file(in: directory)
        let present = LastCollector(
            url: configuration.collectorURL, certificatePins: configuration.certificatePins,
            certificateAuthorities: configuration.certificateAuthorities)
        do throws(DataSamplerError) {
            let last = try file.loadOrKeepAsDamaged(damaged: notices.postSetAside(LastCollector.fileName))
            guard last != present else { return }
            try file.save(present)
            guard let last, let change = last.change(to: present, isEnrolled: DataSampler.isEnrolled(in: directory))
            else {
                return
            }
            logger.notice("\(change)", metadata: ["from": "\(last.url)", "to": "\(present.url)"])
            notices.post(.collectorChanged, change, ["from": last.url, "to": present.url])
        } catch {
            logger.warning("the collector's address cannot be kept", metadata: ["reason": "\(error.message)"])
        }
    }
}
