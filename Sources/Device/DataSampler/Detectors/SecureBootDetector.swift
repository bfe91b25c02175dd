import SampleModules

/// Whether EFI firmware lets only signed systems start. A machine without EFI (boards, containers, many virtual machines) has nothing to
/// look at.
///
/// Source: the variables SecureBoot and SetupMode of the UEFI specification, in efivarfs: four bytes of attributes, then one of value.
struct SecureBootDetector: CompromiseDetector {
    static let firmwarePath = "/sys/firmware/efi"
    static let secureBootPath = "\(variables)/SecureBoot-\(globalVariable)"
    static let setupModePath = "\(variables)/SetupMode-\(globalVariable)"
    private static let variables = "\(firmwarePath)/efivars"
    private static let globalVariable = "8be4df61-93ca-11d2-aa0d-00e098032b8c"

    let name = BuiltInDetector.secureBootDisabled.rawValue
    private let host: any HostSource

    init(host: any HostSource) { self.host = host }

    func examine() -> CompromiseFinding? {
        guard host.list(Self.firmwarePath, maximumEntries: 1) != nil else { return nil }
        guard let secureBoot = flag(Self.secureBootPath) else {
            return CompromiseFinding(.unknown, evidence: "the firmware's variable SecureBoot could not be read")
        }
        guard secureBoot else { return CompromiseFinding(.yes, evidence: "secure boot is off (SecureBoot 0)") }
        // In setup mode anybody may enroll keys.
        if flag(Self.setupModePath) == true {
            return CompromiseFinding(.yes, evidence: "secure boot is in setup mode (SetupMode 1)")
        }
        return CompromiseFinding(.no, evidence: "secure boot is on (SecureBoot 1)")
    }

    private func flag(_ path: String) -> Bool? {
        var buffer = FileBuffer(capacity: 16)
        guard host.read(path, into: &buffer, maximumBytes: 16, keepOpen: false) == .complete else { return nil }
        return buffer.withBytes { bytes in
            guard bytes.count == 5, bytes[4] <= 1 else { return nil }
            return bytes[4] == 1
        }
    }
}
