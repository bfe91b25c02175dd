/// Who uses the device, as the application knows it: in beacons only, and personal - what becomes of each field the privacy class `user`
/// says.
public struct DeviceUser: Equatable, Sendable {
    /// A field is at most this long; what is longer is cut at a character.
    static let maximumBytes = 320

    /// `nil`: not told.
    public var email: String?
    /// `nil`: not told.
    public var fullName: String?
    /// `nil`: not told.
    public var displayName: String?

    /// What is `nil` is not told.
    public init(email: String? = nil, fullName: String? = nil, displayName: String? = nil) {
        self.email = email
        self.fullName = fullName
        self.displayName = displayName
    }
}
