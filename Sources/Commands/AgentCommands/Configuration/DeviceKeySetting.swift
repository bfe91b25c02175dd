import CommandKit
import DataSampler

/// The setting `device-key`: whether the data directory is encrypted, and who has the key.
enum DeviceKeySetting: Equatable, Sendable {
    case file(path: String?)
    case systemd(credential: String)
    case passcode
    /// Nothing is encrypted.
    case none

    private static let fileMark = "file:"
    private static let systemdMark = "systemd:"

    /// `nil` if the text is none of the forms.
    init?(_ text: String) {
        switch text {
        case "file": self = .file(path: nil)
        case "passcode": self = .passcode
        case "none": self = .none
        case _ where text.hasPrefix(Self.fileMark):
            let path = String(text.dropFirst(Self.fileMark.count))
            guard path.hasPrefix("/") else { return nil }
            self = .file(path: path)
        case _ where text.hasPrefix(Self.systemdMark):
            let name = String(text.dropFirst(Self.systemdMark.count))
            guard !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else { return nil }
            self = .systemd(credential: name)
        default: return nil
        }
    }

    var text: String {
        switch self {
        case .file(nil): "file"
        case .file(let path?): Self.fileMark + path
        case .systemd(let credential): Self.systemdMark + credential
        case .passcode: "passcode"
        case .none: "none"
        }
    }

    func apply(to configuration: inout DataSamplerConfiguration) {
        configuration.encryptsAtRest = self != .none
        switch self {
        case .file(let path): configuration.deviceKey = .file(path: path)
        case .systemd(let credential): configuration.deviceKey = .systemdCredential(name: credential)
        case .passcode: configuration.deviceKey = .passcode
        // What was sealed before opens with the usual key file.
        case .none: configuration.deviceKey = .file(path: nil)
        }
    }
}

extension SettingType where Value == DeviceKeySetting {
    private static var forms: String { "file, file:/PATH, systemd:NAME, passcode or none" }

    static let deviceKey = SettingType(
        .text(range: forms, pattern: "^(file(:/.*)?|systemd:[^./][^/]*|passcode|none)$"), text: \.text
    ) { given throws(CommandError) in
        guard let setting = DeviceKeySetting(try given.text()) else { throw given.wrong(forms) }
        return setting
    }
}
