import CollectorAPI
import Foundation
import Registry
import WireModel

extension DeviceRow {
    /// The scope whose profile it runs.
    var profileScope: ProfileScope { ProfileScope(organization: organization, application: application) }
}

/// Refuses certificate pins without the pin of the collector's own key, if the collector ends TLS itself. Otherwise no
/// device could reach it any more, not even for the correction. Storing, rolling back and previewing a profile ask this
/// first.
///
/// Behind a proxy that ends TLS, the collector does not know which key devices see, and accepts any pins.
struct CertificatePinCheck: Sendable {
    /// The pin of the certificate that is served now; `nil`: this collector does not end TLS.
    let ownPin: @Sendable () -> Data?

    func check(_ profile: WireProfile) throws(ProfileError) {
        guard !profile.certificatePins.isEmpty, let own = ownPin(), !profile.certificatePins.contains(own) else {
            return
        }
        throw .invalid(
            WireError(
                .invalidField,
                """
                certificatePins lacks the pin of this collector's own key, \(own.base64EncodedString()): devices could \
                no longer connect. Add it; remove a former key's pin only when this collector uses the new key.
                """))
    }
}

extension ProfileFindingView {
    /// Pins that are valid but should be checked before the `PUT`.
    static func findings(_ profile: WireProfile) -> [ProfileFindingView] {
        guard profile.certificatePins.count == 1 else { return [] }
        var finding = ProfileFindingView()
        finding.path = "/certificatePins"
        finding.detail =
            "There is no backup pin. If the key is lost, devices with this profile can no longer reach the collector. "
            + "Make a second key, keep it elsewhere, and add its pin."
        return [finding]
    }
}
