import FoundationEssentials
import Transmitter
import WireModel

/// What a data directory says of the way to the collector, read beside the program that has the directory. It writes
/// nothing, and a damaged file counts as missing: whoever has the directory reports it.
package struct DiagnosisFiles: Sendable {
    /// `nil` if the device is not enrolled, or the identity cannot be read.
    let enrollment: Enrollment?
    /// Why the identity cannot be read; `nil` if it can, or there is none.
    package let identityObstacle: String?
    /// Whether do-not-disturb is on here.
    package let isDoNotDisturb: Bool
    /// Whether somebody wants the location and may know it.
    package let isLocationWanted: Bool
    /// SHA-256 of the keys that the collector may have, as a start would take them.
    let pins: [Data]
    /// In DER, beside those of the configuration.
    let authorities: [Data]

    package var isEnrolled: Bool { enrollment != nil }

    /// - Parameters:
    ///   - configuration: as the agent runs with.
    ///   - now: microseconds since 1970.
    package init(_ configuration: DataSamplerConfiguration, now: Int64) {
        let directory = configuration.directory
        let seal = StateSeal.keepingForm(configuration.deviceKey, in: directory)
        (enrollment, identityObstacle) = Self.identity(IdentityFile(directory: directory, seal: seal))
        // The profile of a former enrollment must not decide who is asked for the next one.
        let profile =
            enrollment == nil
            ? nil : Self.content(StoredProfile.file(in: directory, seal: seal)).flatMap { try? $0.validProfile() }
        let local =
            Self.content(RuntimeSettings.file(in: directory)).map { $0.applied(to: configuration) } ?? configuration
        let settings = DeviceSettings.resolve(local: local, profile: profile)
        let state = Self.content(DoNotDisturbState.file(in: directory))
        isDoNotDisturb = settings.doNotDisturbAllowed && state?.isOn == true
        isLocationWanted = !settings.locationNeeds.isEmpty
        guard enrollment != nil else {
            (pins, authorities) = (settings.pins, settings.authorities)
            return
        }
        let pinPolicy = Self.content(
            StateFile<PinPolicy>(directory: directory, name: PinKeeper.fileName, seal: seal))
        pins = (pinPolicy ?? PinPolicy()).inForce(settings.pins)
        let authorityPolicy = Self.content(
            StateFile<AuthorityPolicy>(directory: directory, name: AuthorityKeeper.fileName, seal: seal))
        authorities = (authorityPolicy ?? AuthorityPolicy()).inForce(settings.authorities, now: now)
    }

    private static func identity(_ file: IdentityFile) -> (Enrollment?, String?) {
        do throws(DataSamplerError) {
            switch try file.read() {
            case .content(.enrolled(let enrollment, _)): return (enrollment, nil)
            case .damaged(let why): return (nil, why)
            case .content(.unenrolled), .none: return (nil, nil)
            }
        } catch { return (nil, error.message) }
    }

    private static func content<Content>(_ file: StateFile<Content>) -> Content? {
        do throws(DataSamplerError) { return try file.load() } catch { return nil }
    }
}

extension DataSamplerConfiguration {
    /// Why nothing of use answers at gpsd's address; `nil` if something does, or no address is set.
    package var gpsdObstacle: String? {
        guard let gpsd else { return "gpsd is 'none', and somebody wants the location" }
        do throws(DataSamplerError) {
            let address = try GPSDAddress(gpsd)
            do throws(GPSDConnection.Failure) { _ = try GPSDConnection(address) } catch { return error.reason }
            return nil
        } catch { return error.message }
    }
}
