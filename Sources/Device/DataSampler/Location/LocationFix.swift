/// A position that a receiver has determined, with what it knows of its quality. A value; WGS 84.
public struct LocationFix: Equatable, Sendable {
    /// What the receiver could solve.
    public enum Mode: UInt32, Sendable {
        /// Latitude and longitude.
        case twoDimensional = 2
        /// Latitude, longitude and altitude.
        case threeDimensional = 3
    }

    /// Degrees, -90 to 90, north positive.
    public var latitude: Double
    /// Degrees, -180 to 180, east positive.
    public var longitude: Double
    /// Meters above the geoid (mean sea level); `nil`: not known.
    public var altitude: Double?
    /// The horizontal error in meters, at about 95 % confidence; `nil`: the receiver does not say.
    public var horizontalAccuracy: Double?
    /// The error of the altitude in meters, at about 95 % confidence; `nil`: the receiver does not say.
    public var verticalAccuracy: Double?
    /// Over ground, in meters a second, 0 or more; `nil`: not known.
    public var speed: Double?
    /// Over ground, in degrees clockwise from true north, 0 up to 360; `nil`: not known, as at rest.
    public var course: Double?
    /// How much the receiver could solve.
    public var mode: Mode
    /// `nil`: the receiver does not say.
    public var satellites: Satellites?
    /// When the position was determined, by the receiver's clock: microseconds since 1970-01-01T00:00:00Z. It can
    /// differ from the clock of this device.
    public var time: Int64

    /// Counts of satellites.
    public struct Satellites: Equatable, Sendable {
        /// In view of the receiver.
        public var visible: UInt32
        /// Used for the position.
        public var used: UInt32

        /// Nothing is checked here.
        public init(visible: UInt32, used: UInt32) {
            self.visible = visible
            self.used = used
        }
    }

    /// Nothing is checked here; a fix that is out of range counts as no fix.
    public init(
        latitude: Double, longitude: Double, altitude: Double? = nil, horizontalAccuracy: Double? = nil,
        verticalAccuracy: Double? = nil, speed: Double? = nil, course: Double? = nil, mode: Mode = .twoDimensional,
        satellites: Satellites? = nil, time: Int64
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.speed = speed
        self.course = course
        self.mode = mode
        self.satellites = satellites
        self.time = time
    }
}

extension LocationFix {
    /// The fix without figures that cannot be; `nil` if its position cannot be. A figure that is not finite or out of
    /// range is absent, because a receiver or program that states it knows nothing.
    var checked: LocationFix? {
        guard latitude.isFinite, (-90...90).contains(latitude), longitude.isFinite, (-180...180).contains(longitude)
        else { return nil }
        var fix = self
        fix.altitude = altitude.flatMap { $0.isFinite && abs($0) <= 1e8 ? $0 : nil }
        fix.horizontalAccuracy = Self.figure(horizontalAccuracy, upTo: 1e8)
        fix.verticalAccuracy = Self.figure(verticalAccuracy, upTo: 1e8)
        fix.speed = Self.figure(speed, upTo: 1e6)
        fix.course = Self.figure(course, upTo: 360).map { $0 == 360 ? 0 : $0 }
        return fix
    }

    private static func figure(_ value: Double?, upTo most: Double) -> Double? {
        value.flatMap { $0.isFinite && (0...most).contains($0) ? $0 : nil }
    }
}
