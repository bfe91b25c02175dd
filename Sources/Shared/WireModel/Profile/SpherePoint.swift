import Glibc

/// A place on the earth as the unit vector from its centre. Pure.
///
/// The earth counts as a sphere. Distances then differ by at most 0.6 % from those on the ellipsoid. A vector has no
/// special places: longitudes 180 and -180 are one meridian, and every longitude of a pole is the pole.
package struct SpherePoint: Equatable, Sendable {
    /// The mean radius of the earth in meters (IUGG).
    package static let earthRadius = 6_371_008.8

    let vector: SIMD3<Double>

    /// - Parameters:
    ///   - latitude: degrees, -90 to 90.
    ///   - longitude: degrees, -180 to 180.
    package init(latitude: Double, longitude: Double) {
        let (phi, lambda) = (latitude * .pi / 180, longitude * .pi / 180)
        vector = SIMD3(cos(phi) * cos(lambda), cos(phi) * sin(lambda), sin(phi))
    }

    init(_ vector: SIMD3<Double>) { self.vector = vector }

    /// The distance on the sphere in meters, by the haversine formula: half a chord is the root of the haversine.
    package func distance(to other: SpherePoint) -> Double {
        2 * Self.earthRadius * asin(min(1, (vector - other.vector).length / 2))
    }
}

extension SIMD3<Double> {
    func dot(_ other: Self) -> Double { x * other.x + y * other.y + z * other.z }

    func cross(_ other: Self) -> Self {
        Self(y * other.z - z * other.y, z * other.x - x * other.z, x * other.y - y * other.x)
    }

    var length: Double { dot(self).squareRoot() }
}
