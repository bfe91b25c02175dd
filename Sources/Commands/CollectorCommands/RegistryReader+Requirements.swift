import CollectorStore
import WireModel

extension RegistryReader {
    /// - Throws: `.usage` for an organization or a device that is not there: nothing would be found, and a misspelt name look like success.
    func require(organization: String?, device: DeviceID? = nil) throws {
        if let organization, !(try organizations().contains { $0.name == organization }) {
            throw CommandError(.usage, "There is no organization \"\(organization)\"; `ws1collector organization list` shows them.")
        }
        if let device, !(try hasDevice(device)) {
            throw CommandError(.usage, "There is no device \(device); `ws1collector balance` lists them.")
        }
    }
}
