import Crypto
import FoundationEssentials
import Synchronization
import Transmitter
import WireModel

/// The transmitter's `EnrollmentStore` over the identity file. Safe from any thread.
final class IdentityStore: EnrollmentStore {
    private let file: IdentityFile
    private let enrolling: EnrollingFile
    private let machineHash: String?
    private let request: WireEnrollRequest
    private let signing: SigningRequestFile?
    /// As configured; `nil` where none was given.
    let configuredToken: String?
    /// One at a time: what is decided on the file's content stands until it is replaced.
    private let access = Mutex(())

    /// - Parameters:
    ///   - machineHash: of the machine this runs on; `nil` where it has no machine id.
    ///   - request: what an enrollment says of this device, without what proves it.
    ///   - signingRequest: the request for a client certificate; `nil`: none is wanted.
    init(
        directory: String, machineHash: String?, enrollmentToken: String?, request: WireEnrollRequest,
        signingRequest: SigningRequestFile? = nil
    ) {
        signing = signingRequest
        file = IdentityFile(directory: directory)
        enrolling = EnrollingFile(directory: directory)
        self.machineHash = machineHash
        configuredToken = enrollmentToken
        self.request = request
    }

    /// Throws `identity` where the file cannot be read or is damaged. A file of another machine is a clone's: two machines under one device id
    /// would tear its history.
    func state() throws -> EnrollmentState {
        try access.withLock { _ in
            switch try file.load() {
            case nil: .none
            case .enrolled(let enrollment, let recorded):
                if let recorded, let machineHash, recorded != machineHash { .clone(of: enrollment) } else { .enrolled(enrollment) }
            case .unenrolled(let device, _): .unenrolled(device)
            }
        }
    }

    func save(_ enrollment: Enrollment) throws {
        try access.withLock { _ in
            try file.save(.enrolled(enrollment, machineHash: machineHash))
            try enrolling.finish()
        }
    }

    func unenroll() throws {
        try access.withLock { _ in
            guard case .enrolled(let enrollment, _)? = try file.load() else { return }
            try file.save(.unenrolled(enrollment.deviceID, tokenDigest: configuredToken.map(Self.digest)))
            try enrolling.finish()
        }
    }

    /// A token stays where it was configured, in a file or a unit, so that its mere presence after an unenrollment says nothing. Another one
    /// than the device had when it left is somebody's decision to enroll it again.
    func enrollmentToken() throws -> String? {
        guard let configuredToken else { return nil }
        if case .unenrolled(_, let digest)? = try file.load(), digest == Self.digest(configuredToken) { return nil }
        return configuredToken
    }

    func enrollRequest(as role: EnrollmentRole) throws -> WireEnrollRequest {
        var request = request
        request.machineHash = machineHash ?? ""
        switch role {
        case .new: break
        case .again(let former):
            request.deviceID = former.deviceID.data
            request.previousCredential = former.credential
        case .returning(let device): request.deviceID = device.data
        }
        request.requestID = try access.withLock { _ in try enrolling.requestID(token: configuredToken, role: role) }
        return request
    }

    func signingRequest() throws -> Data? { try signing?.read() }

    private static func digest(_ token: String) -> String {
        Data(SHA256.hash(data: Data("ws1-telemetry unenrolled \(token)".utf8))).hexadecimal
    }
}
