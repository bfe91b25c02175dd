import Foundation

/// A place on the sphere that stands for Earth. Its coordinates are always on Earth.
struct GeoPosition: Equatable, Sendable {
    /// Degrees, -90 to 90.
    let latitude: Double
    /// Degrees, -180 to 180.
    let longitude: Double

    /// The mean radius of Earth (IUGG), in metres.
    static let earthRadius = 6_371_008.8
    /// From pole to pole along a meridian: no place is farther from another.
    static let greatestDistance = Double.pi * earthRadius

    /// `nil` for numbers that are nowhere on Earth.
    init?(latitude: Double, longitude: Double) {
        guard abs(latitude) <= 90, abs(longitude) <= 180 else { return nil }
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    var radians: (latitude: Double, longitude: Double) { (latitude * .pi / 180, longitude * .pi / 180) }

    /// The place as a vector of length 1 from the centre of Earth. It knows neither antimeridian nor poles.
    var vector: SIMD3<Double> {
        let (latitude, longitude) = radians
        return SIMD3(cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
    }

    /// The place in the direction of a vector; `nil` for one that has almost no length.
    init?(direction: SIMD3<Double>) {
        let flat = hypot(direction.x, direction.y)
        guard hypot(flat, direction.z) > 1e-6 else { return nil }
        self.init(
            latitude: atan2(direction.z, flat) * 180 / .pi, longitude: atan2(direction.y, direction.x) * 180 / .pi)
    }

    /// Metres along the sphere.
    func distance(to other: GeoPosition) -> Double {
        let point = MapProjection(centre: self).point(of: other)
        return hypot(point.east, point.north)
    }

    /// The place so many metres away.
    /// - Parameter bearing: radians, clockwise from north.
    func position(at distance: Double, bearing: Double) -> GeoPosition? {
        let (latitude, longitude) = radians
        let angle = distance / Self.earthRadius
        let sine = sin(latitude) * cos(angle) + cos(latitude) * sin(angle) * cos(bearing)
        let turn = atan2(
            sin(bearing) * sin(angle) * cos(latitude), cos(angle) - sin(latitude) * sine)
        return GeoPosition(
            latitude: asin(min(1, max(-1, sine))) * 180 / .pi,
            longitude: remainder((longitude + turn) * 180 / .pi, 360))
    }
}

/// A point on a map, in metres from the map's centre.
struct MapPoint: Equatable, Sendable {
    var east: Double
    var north: Double
}

/// The azimuthal equidistant projection: distances and directions from its centre are true. For the few kilometres of
/// a usual track it cannot be told from a plan. It has no edge at the antimeridian and none at the poles. North is up
/// at the centre.
struct MapProjection: Sendable {
    let centre: GeoPosition
    private let sine: Double
    private let cosine: Double

    init(centre: GeoPosition) {
        self.centre = centre
        (sine, cosine) = (sin(centre.radians.latitude), cos(centre.radians.latitude))
    }

    func point(of position: GeoPosition) -> MapPoint {
        let latitude = position.radians.latitude
        // Taken in degrees: whole turns are exact there.
        let turn = remainder(position.longitude - centre.longitude, 360) * .pi / 180
        let east = cos(latitude) * sin(turn)
        // As sin(a - b) with what the turn adds: near the centre nothing is cancelled out.
        let north = sin(latitude - centre.radians.latitude) + sine * cos(latitude) * 2 * pow(sin(turn / 2), 2)
        let length = hypot(east, north)
        let angle = atan2(length, sine * sin(latitude) + cosine * cos(latitude) * cos(turn))
        // The opposite of the centre is all around the map; it is drawn in the north.
        guard length > 0 else { return MapPoint(east: 0, north: angle * GeoPosition.earthRadius) }
        let scale = angle / length * GeoPosition.earthRadius
        return MapPoint(east: east * scale, north: north * scale)
    }
}
