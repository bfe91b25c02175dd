import Transmitter
import WireModel

/// The transmitter's `EnrollmentStore` over the identity file. Safe from any thread.
final class IdentityStore: EnrollmentStore {
    private let file: IdentityFile
    private let machineHash: String?
    private let request: WireEnrollRequest
    let enrollmentToken: String?

    /// - Parameters:
    ///   - machineHash: of the machine this runs on; `nil` where it has no machine id.
    ///   - request: what an enrollment says of this device, without what proves it.
    init(file: IdentityFile, machineHash: String?, enrollmentToken: String?, request: WireEnrollRequest) {
        self.file = file
        self.machineHash = machineHash
        self.enrollmentToken = enrollmentToken
        self.request = request
    }

    /// Throws `identity` where the file is damaged or came from another machine: two machines under one device id would tear its history.
    func load() throws -> Enrollment? {
        guard let content = try file.load() else { return nil }
        if let recorded = content.machineHash, let machineHash, recorded != machineHash {
            throw DataSamplerError(
                .identity,
                "\(file.path) was made on another machine than this one (a cloned disk?): remove the whole data directory to enroll as a new device"
            )
        }
        return content.enrollment
    }

    func save(_ enrollment: Enrollment) throws {
        try file.save(IdentityFile.Content(enrollment: enrollment, machineHash: machineHash))
    }

    func enrollRequest(previous: Enrollment?) -> WireEnrollRequest {
        var request = request
        request.machineHash = machineHash ?? ""
        if let previous {
            request.deviceID = previous.deviceID.data
            request.previousCredential = previous.credential
        }
        return request
    }
}
