import Glibc

/// The area of a geofence: says how deep a point lies in it. Pure.
///
/// A circle is every point that is not farther from its centre than its radius. A polygon's edge is the shortest way on
/// the sphere between two corners, a part of a great circle. So a polygon may cross the antimeridian and may have a
/// pole inside, and needs no rule for either.
///
/// No corner is farther than ``maximumReach`` from the middle of the corners. Therefore a polygon has one inside: the
/// side that is smaller. Seen from the earth's centre, a plane that touches the sphere in that middle shows great
/// circles as straight lines (gnomonic projection). Whether a point is inside, and whether edges cross, is decided in
/// this plane; distances are those on the sphere.
package struct GeofenceArea: Sendable {
    /// Meters from the middle of a polygon to its farthest corner, at most.
    static let maximumReach = 5_000_000.0
    /// Square meters that a polygon has at least. With less its corners lie on one line.
    static let leastArea = 1.0
    /// Corners that are not farther apart, in meters, are one.
    private static let sameCorner = 0.01

    private enum Shape: Sendable {
        case circle
        case polygon(PolygonPlane, [Edge])
    }

    /// A part of a great circle.
    private struct Edge: Sendable {
        var start, end: SIMD3<Double>
        /// Perpendicular to the plane of the great circle.
        var normal: SIMD3<Double>
        /// From the start and from the end, along the edge to the other one.
        var forward, backward: SIMD3<Double>

        init(_ start: SpherePoint, _ end: SpherePoint) {
            (self.start, self.end) = (start.vector, end.vector)
            // As the cross product of both, without its rounding error where they are close.
            let product = start.vector.cross(end.vector - start.vector)
            normal = product / product.length
            forward = normal.cross(start.vector)
            backward = end.vector.cross(normal)
        }

        /// The square of the sine of the angle to its nearest point, which is less than 90 degrees away.
        func squaredSine(to point: SIMD3<Double>) -> Double {
            if forward.dot(point) >= 0, backward.dot(point) >= 0 {
                let sine = normal.dot(point)
                return sine * sine
            }
            let (first, second) = (point - start, point - end)
            let chord = min(first.dot(first), second.dot(second))
            return chord * (1 - chord / 4)
        }
    }

    private let middle: SpherePoint
    /// Meters from the middle, beyond which no point is inside.
    private let reach: Double
    private let shape: Shape
    /// Meters: the radius of a circle, and of a polygon the radius of the circle that has as many square meters.
    package let radius: Double

    /// - Parameter place: the field's name, for errors.
    /// - Throws: `.invalidField` if the geofence has no area or more than one.
    package init(_ fence: WireGeofence, at place: String = "geofence") throws(WireError) {
        guard !fence.corners.isEmpty else {
            middle = SpherePoint(latitude: fence.latitude, longitude: fence.longitude)
            (reach, radius, shape) = (fence.radiusMeters, fence.radiusMeters, .circle)
            return
        }
        let corners = fence.corners.map { SpherePoint(latitude: $0.latitude, longitude: $0.longitude) }
        for (number, corner) in corners.enumerated() {
            let next = (number + 1) % corners.count
            guard corner.distance(to: corners[next]) > Self.sameCorner else {
                throw .field(
                    "\(place).corners[\(next)]", "is where corners[\(number)] is",
                    "each corner once; the last one is joined with the first")
            }
        }
        let sum = corners.reduce(SIMD3<Double>.zero) { $0 + $1.vector }
        let middle = SpherePoint(sum.length > 1e-9 ? sum / sum.length : corners[0].vector)
        self.middle = middle
        for (number, corner) in corners.enumerated() {
            let distance = corner.distance(to: middle)
            guard distance <= Self.maximumReach else {
                throw .field(
                    "\(place).corners[\(number)]",
                    "is \(Int(distance / 1000)) km from the middle of the corners",
                    "at most \(Int(Self.maximumReach / 1000)) km")
            }
        }
        let plane = PolygonPlane(corners, around: middle)
        if let (first, second) = plane.crossing {
            throw .field(
                "\(place).corners", "make edges that meet, those after corners[\(first)] and corners[\(second)]",
                "the corners in their order around the area")
        }
        let area = Self.area(corners, around: middle.vector)
        guard area >= Self.leastArea else {
            throw .field(
                "\(place).corners", "enclose less than \(Int(Self.leastArea)) square meter",
                "corners that do not lie on one line")
        }
        radius = (area / .pi).squareRoot()
        reach = corners.map { $0.distance(to: middle) }.max() ?? 0
        shape = .polygon(plane, zip(corners, corners.dropFirst() + corners.prefix(1)).map { Edge($0, $1) })
    }

    /// Square meters on the sphere, as the sum of the triangles that the edges make with the middle (Van Oosterom and
    /// Strackee, 1983).
    private static func area(_ corners: [SpherePoint], around middle: SIMD3<Double>) -> Double {
        var sum = 0.0
        for (first, second) in zip(corners, corners.dropFirst() + corners.prefix(1)) {
            let (a, b) = (first.vector, second.vector)
            // The determinant of the three, without its rounding error where they are close.
            let determinant = middle.dot((a - middle).cross(b - middle))
            sum += 2 * atan2(determinant, 1 + a.dot(b) + b.dot(middle) + middle.dot(a))
        }
        return abs(sum) * SpherePoint.earthRadius * SpherePoint.earthRadius
    }

    /// Meters from a point to the edge of the area: positive inside, negative outside.
    /// - Parameter horizon: meters. Of a point that is farther outside than this or 1,000 km, the result says only how
    ///   far outside it is at least. That costs no more than one distance.
    package func depth(of point: SpherePoint, horizon: Double = .infinity) -> Double {
        let fromMiddle = point.distance(to: middle)
        guard case .polygon(let plane, let edges) = shape else { return reach - fromMiddle }
        // An angle is known by its sine only up to 90 degrees, which a point of the far side exceeds.
        guard fromMiddle - reach <= min(horizon, 1_000_000) else { return reach - fromMiddle }
        var nearest = Double.infinity
        for edge in edges { nearest = min(nearest, edge.squaredSine(to: point.vector)) }
        let distance = SpherePoint.earthRadius * asin(min(1, max(0, nearest)).squareRoot())
        return plane.contains(point.vector) ? distance : -distance
    }
}

/// A polygon in the plane that touches the sphere in its middle. Pure.
private struct PolygonPlane: Sendable {
    private let middle, east, north: SIMD3<Double>
    private var corners: [SIMD2<Double>] = []

    init(_ points: [SpherePoint], around middle: SpherePoint) {
        self.middle = middle.vector
        // Any two directions that are perpendicular will do.
        let axis = abs(middle.vector.z) < 0.9 ? SIMD3<Double>(0, 0, 1) : SIMD3<Double>(1, 0, 0)
        let direction = axis.cross(middle.vector)
        east = direction / direction.length
        north = middle.vector.cross(east)
        corners = points.map { project($0.vector) }
    }

    private func project(_ point: SIMD3<Double>) -> SIMD2<Double> {
        SIMD2(point.dot(east), point.dot(north)) / point.dot(middle)
    }

    /// Whether a ray from the point meets an odd number of edges.
    func contains(_ point: SIMD3<Double>) -> Bool {
        guard point.dot(middle) > 0 else { return false }
        let point = project(point)
        var isInside = false
        var last = corners[corners.count - 1]
        for corner in corners {
            if (corner.y > point.y) != (last.y > point.y) {
                let x = corner.x + (point.y - corner.y) / (last.y - corner.y) * (last.x - corner.x)
                if point.x < x { isInside.toggle() }
            }
            last = corner
        }
        return isInside
    }

    /// Two edges that have a point in common and are no neighbours, or neighbours that have more than their corner in
    /// common, by the corners where they begin; `nil` if there are none.
    var crossing: (Int, Int)? {
        let count = corners.count
        for first in 0..<count {
            let (a, b) = (corners[first], corners[(first + 1) % count])
            for second in first + 1..<count {
                let (c, d) = (corners[second], corners[(second + 1) % count])
                let meet =
                    second == first + 1
                    ? Self.foldsBack(a, b, d)
                    : (second + 1) % count == first ? Self.foldsBack(c, d, b) : Self.meet(a, b, c, d)
                if meet { return (first, second) }
            }
        }
        return nil
    }

    /// Twice the area of a triangle; positive if it turns left.
    private static func turn(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>) -> Double {
        (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
    }

    /// How far along from `a` to `b` a point lies, as a share; `nil` if it does not lie on the line through them.
    private static func share(_ point: SIMD2<Double>, _ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Double? {
        let (way, to) = (b - a, point - a)
        let square = (way * way).sum()
        guard abs(turn(a, b, point)) <= onLine * square.squareRoot() else { return nil }
        return (way * to).sum() / square
    }

    /// In earth radii, about a centimeter: points of one meridian are on one line, whatever was rounded.
    private static let onLine = 1.5e-9

    /// Whether the way from `a` to `b` turns back there exactly, to `c`.
    private static func foldsBack(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>) -> Bool {
        (share(a, b, c) ?? 0) > 0 || (share(c, b, a) ?? 0) > 0
    }

    private static func meet(
        _ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>, _ d: SIMD2<Double>
    ) -> Bool {
        let touches = [share(c, a, b), share(d, a, b), share(a, c, d), share(b, c, d)]
        // An edge that touches the line of the other one does not cross it.
        guard touches.allSatisfy({ $0 == nil }) else {
            return touches.contains { $0.map { (0...1).contains($0) } ?? false }
        }
        return (turn(a, b, c) > 0) != (turn(a, b, d) > 0) && (turn(c, d, a) > 0) != (turn(c, d, b) > 0)
    }
}
