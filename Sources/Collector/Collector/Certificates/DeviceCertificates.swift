/// Whether devices have client certificates of this collector's own authority, and what comes of a device without one.
///
/// A certificate is a second factor beside the credential, never in its place: whoever shows one still has to send the credential of the device
/// that it was issued to. People never need one; the server asks for it during the handshake, and only a device's route looks at it.
///
/// Argued against once: a certificate alone could be the credential, as in SCEP or EST. But then a renewal that is lost locks the device out, a
/// proxy that ends TLS makes identities unreadable, and revocation needs lists. Beside a credential the certificate only ever narrows who is let
/// in, so each of these fails safely: what is not remembered as the device's own is refused, and nothing else depends on it.
///
/// Where it is off - no authority is set, or it was switched off - a request for a certificate is not looked at, and a device is enrolled with
/// its credential alone, as at a collector that knows nothing of certificates. Refusing it would keep a fleet whose agents were set up first
/// from reporting, and protect nothing: this collector asks nobody for a certificate.
package enum DeviceCertificates: Sendable {
    case off
    /// A device may come without; the way to bring certificates to a fleet that has none.
    case optional(DeviceAuthority)
    /// A device's routes are closed without one, all but enrolling, which gives one.
    case required(DeviceAuthority)

    package var authority: DeviceAuthority? {
        switch self {
        case .off: nil
        case .optional(let authority), .required(let authority): authority
        }
    }
}
