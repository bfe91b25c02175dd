import CollectorStore
import WireModel

extension DeviceRegistry {
    /// The device in the path; another organization's is not there.
    func known(_ exchange: Exchange) async throws -> DeviceRow {
        guard let id = DeviceID(exchange.parameters["device"] ?? ""),
            let device = try await device(id, organization: exchange.person.organization)
        else { throw Problem.noDevice }
        return device
    }
}
