import CLibMosquitto
import Crypto
import FoundationEssentials
import Synchronization
import TelemetryBasics
import WireModel

/// An `SSL_CTX` of OpenSSL that libmosquitto makes its connections with.
///
/// libmosquitto sends user and password right after the handshake, so the broker's key must be checked in it. The
/// context's verify callback does: first OpenSSL's own check with the name, then the pins. One context serves all
/// connections with the same settings.
final class MQTTSecurityContext: @unchecked Sendable {  // OpenSSL counts references and locks; the rest is immutable.
    struct Verdict: Sendable {
        /// SHA-256 of the subject public key info that the broker showed.
        var key: Data?
        var refusal: MQTTError?
    }

    let pointer: UnsafeMutableRawPointer
    private let library: LibMosquitto
    private let pins: Set<Data>
    private let peer: String
    private let verdict = Mutex(Verdict())

    var newest: Verdict { verdict.withLock { $0 } }

    /// - Throws: `configuration` for a file that cannot be read; `tls`.
    init(_ security: MQTTSecurity, for address: MQTTAddress, library: LibMosquitto) throws(MQTTError) {
        self.library = library
        pins = Set(security.pins)
        peer = address.authority
        let tls = library.tls
        guard let context = tls.contextNew(tls.clientMethod()) else {
            throw MQTTError(.tls, "OpenSSL made no context: the machine may be out of memory")
        }
        pointer = context
        // Everything is stored by now, so an error runs deinit, which frees the context.
        try Self.prepare(context, security, address, tls)
        tls.contextVerify(context, Self.verifyPeer, nil)
        // The context never outlives this object's connections: each holds it.
        tls.contextVerifyCallback(context, Self.verify, Unmanaged.passUnretained(self).toOpaque())
        tls.clearErrors()
    }

    deinit { library.tls.contextFree(pointer) }

    func forget() { verdict.withLock { $0 = Verdict() } }

    // Numbers of ssl.h and x509_vfy.h.
    private static let verifyPeer: CInt = 1
    private static let controlExtraChain: CInt = 14
    private static let controlLeastVersion: CInt = 123
    private static let version1_2 = 0x0303
    private static let applicationRefused: CInt = 50

    private static func prepare(
        _ context: UnsafeMutableRawPointer, _ security: MQTTSecurity, _ address: MQTTAddress, _ tls: OpenSSLFunctions
    ) throws(MQTTError) {
        guard tls.contextControl(context, controlLeastVersion, version1_2, nil) == 1,
            tls.contextCiphers(context, WireNames.cipherSuites) == 1, let parameters = tls.contextParameters(context)
        else { throw MQTTError(.tls, "this machine's OpenSSL has no TLS 1.2 with ECDHE and AES-GCM or ChaCha20") }
        // An address is compared with the certificate's addresses, a name with its names.
        if tls.parameterAddress(parameters, address.host) != 1,
            tls.parameterHost(parameters, address.host, address.host.utf8.count) != 1
        {
            throw MQTTError(.configuration, "the broker's name \(address.host) cannot be checked in a certificate")
        }
        try trust(security, in: context, tls)
        try show(security, in: context, tls)
    }

    private static func trust(
        _ security: MQTTSecurity, in context: UnsafeMutableRawPointer, _ tls: OpenSSLFunctions
    ) throws(MQTTError) {
        if security.trustsSystem { _ = tls.contextDefaultPaths(context) }
        guard let store = tls.contextStore(context) else { throw MQTTError(.tls, "OpenSSL has no certificate store") }
        if let file = security.authorityFile {
            let authorities = certificates(in: try read(file, "certificate authorities"), tls)
            guard !authorities.isEmpty else {
                throw MQTTError(
                    .configuration,
                    "no certificate could be read from \(file): it must exist, be readable and hold PEM certificates")
            }
            for authority in authorities {
                _ = tls.storeAdd(store, authority)
                tls.certificateFree(authority)
            }
        }
        for authority in security.authorities {
            let made = Array(authority).withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                return tls.certificateFromDER(nil, &start, bytes.count)
            }
            guard let made else { continue }
            _ = tls.storeAdd(store, made)
            tls.certificateFree(made)
        }
    }

    private static func show(
        _ security: MQTTSecurity, in context: UnsafeMutableRawPointer, _ tls: OpenSSLFunctions
    ) throws(MQTTError) {
        guard let certificateFile = security.certificateFile, let keyFile = security.keyFile else { return }
        let chain = certificates(in: try read(certificateFile, "client certificate"), tls)
        guard let leaf = chain.first, tls.contextCertificate(context, leaf) == 1 else {
            for certificate in chain { tls.certificateFree(certificate) }
            throw MQTTError(
                .configuration,
                "the client certificate \(certificateFile) cannot be used: it must hold PEM certificates")
        }
        tls.certificateFree(leaf)
        // The context takes the certificates of the authorities over.
        for authority in chain.dropFirst() where tls.contextControl(context, controlExtraChain, 0, authority) != 1 {
            tls.certificateFree(authority)
        }
        let text = try read(keyFile, "key of the client certificate")
        let key = text.withUnsafeBytes { bytes -> UnsafeMutableRawPointer? in
            guard let start = bytes.baseAddress, let memory = tls.memory(start, CInt(bytes.count)) else { return nil }
            defer { _ = tls.memoryFree(memory) }
            // Without the callback OpenSSL would ask for a passphrase at the terminal.
            return tls.readKey(memory, nil, { _, _, _, _ in 0 }, nil)
        }
        guard let key else {
            throw MQTTError(
                .configuration, "the key \(keyFile) cannot be read: it must be a PEM file without a passphrase")
        }
        defer { tls.keyFree(key) }
        guard tls.contextKey(context, key) == 1, tls.contextCheckKey(context) == 1 else {
            throw MQTTError(
                .configuration, "the key \(keyFile) is not the one that \(certificateFile) was issued for")
        }
    }

    /// What the files of the settings hold now, as one digest. A missing file counts as empty; whoever reads it says
    /// so.
    static func digest(ofFilesOf security: MQTTSecurity) -> Data {
        var hash = SHA256()
        for file in [security.authorityFile, security.certificateFile, security.keyFile] {
            let content = file.flatMap { try? PlainText.read($0) } ?? []
            hash.update(data: Data("\(content.count) ".utf8))
            hash.update(data: content)
        }
        return Data(hash.finalize())
    }

    private static func read(_ file: String, _ what: String) throws(MQTTError) -> [UInt8] {
        do { return try PlainText.read(file) } catch {
            throw MQTTError(.configuration, "the file \(file) with the \(what) cannot be read: \(error)")
        }
    }

    private static func certificates(in text: [UInt8], _ tls: OpenSSLFunctions) -> [UnsafeMutableRawPointer] {
        text.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let memory = tls.memory(start, CInt(bytes.count)) else { return [] }
            defer { _ = tls.memoryFree(memory) }
            var certificates: [UnsafeMutableRawPointer] = []
            while let certificate = tls.readCertificate(memory, nil, nil, nil) { certificates.append(certificate) }
            tls.clearErrors()
            return certificates
        }
    }

    // MARK: - In the handshake

    private static let verify: OSVerifyCallback = { store, argument in
        guard let argument else { return 0 }
        let context = Unmanaged<MQTTSecurityContext>.fromOpaque(argument).takeUnretainedValue()
        return context.verify(store) ? 1 : 0
    }

    private func verify(_ store: UnsafeMutableRawPointer) -> Bool {
        let tls = library.tls
        guard tls.verify(store) == 1 else {
            let words = String(cString: tls.verifyErrorText(CLong(tls.verifyError(store))))
            verdict.withLock {
                $0.refusal = MQTTError(
                    .tls,
                    "the certificate of the broker \(peer) is not trusted: \(words). Give the issuer's certificate "
                        + "with --ca, use the name that it was issued for, and check this machine's clock")
            }
            return false
        }
        let key = tls.verifiedCertificate(store).flatMap { digest(ofKeyIn: $0) }
        let isPinned = pins.isEmpty || key.map(pins.contains) == true
        verdict.withLock {
            $0.key = isPinned ? key : nil
            $0.refusal =
                isPinned
                ? nil
                : MQTTError(
                    .pinMismatch,
                    "the certificate of the broker \(peer) is trusted, but its key (SHA-256 "
                        + "\(key?.hexadecimal ?? "missing")) is none of those pinned by profile or enrollment file; "
                        + "over MQTT the pins are the broker's. A new key's pin has to be in the profile before the "
                        + "broker uses the key. Before the enrollment, only another enrollment file helps")
        }
        if !isPinned { tls.setVerifyError(store, Self.applicationRefused) }
        return isPinned
    }

    private func digest(ofKeyIn certificate: UnsafeMutableRawPointer) -> Data? {
        guard let key = library.tls.certificateKey(certificate) else { return nil }
        let count = library.tls.keyBytes(key, nil)
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            _ = library.tls.keyBytes(key, &start)
        }
        return Data(SHA256.hash(data: bytes))
    }
}
