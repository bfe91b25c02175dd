import SwiftProtobuf
import Testing
import WireModel

@Suite struct GeofenceAreaTests {
    private typealias Place = (latitude: Double, longitude: Double)

    private static func polygon(_ corners: [Place]) throws -> GeofenceArea {
        var fence = WireGeofence()
        fence.corners = corners.map { place in
            .with { ($0.latitude, $0.longitude) = (place.latitude, place.longitude) }
        }
        return try GeofenceArea(fence)
    }

    private static func circle(_ latitude: Double, _ longitude: Double, _ radius: Double) throws -> GeofenceArea {
        var fence = WireGeofence()
        (fence.latitude, fence.longitude, fence.radiusMeters) = (latitude, longitude, radius)
        return try GeofenceArea(fence)
    }

    private static func depth(_ area: GeofenceArea, _ latitude: Double, _ longitude: Double) -> Double {
        area.depth(of: SpherePoint(latitude: latitude, longitude: longitude))
    }

    /// Distances between cities by the haversine formula, and short ones.
    @Test(
        arguments: [
            (52.5200, 13.4050, 48.8566, 2.3522, 877_460), (0, 0, 0, 180, 20_015_115), (90, 0, -90, 77, 20_015_115),
            (0, 179.9999, 0, -179.9999, 22.239), (89.9999, 0, 89.9999, 180, 22.239), (52, 13, 52.00001, 13, 1.11195),
        ] as [(Double, Double, Double, Double, Double)])
    func `Distances are those on the sphere`(a: Double, b: Double, c: Double, d: Double, meters: Double) {
        let distance = SpherePoint(latitude: a, longitude: b).distance(to: SpherePoint(latitude: c, longitude: d))
        #expect(abs(distance - meters) < max(0.001, meters * 5e-5), "\(distance)")
    }

    @Test func `A circle is what is not farther than its radius`() throws {
        let area = try Self.circle(52.52, 13.405, 500)
        #expect(abs(Self.depth(area, 52.52, 13.405) - 500) < 1e-6 && area.radius == 500)
        // 0.01 degree of latitude are 1,111.95 m.
        #expect(abs(Self.depth(area, 52.53, 13.405) + 611.95) < 0.01)
        let pole = try Self.circle(90, 0, 1000)
        for longitude in stride(from: -180.0, through: 180, by: 45) { #expect(Self.depth(pole, 89.995, longitude) > 0) }
        let antimeridian = try Self.circle(0, 180, 1000)
        #expect(Self.depth(antimeridian, 0, -179.995) > 0 && Self.depth(antimeridian, 0, 179.995) > 0)
        let allButOnePlace = try Self.circle(0, 0, 20_000_000)
        #expect(Self.depth(allButOnePlace, 0, 179) > 0 && Self.depth(allButOnePlace, 0, 180) < 0)
    }

    @Test func `A polygon has an inside, and distances to its edges`() throws {
        let corners: [Place] = [(52.50, 13.40), (52.50, 13.42), (52.52, 13.42), (52.52, 13.40)]
        for corners in [corners, corners.reversed()] {
            let area = try Self.polygon(corners)
            // The next edge is the western one: 0.002 degree of longitude at 52.51 degrees north.
            #expect(abs(Self.depth(area, 52.51, 13.402) - 135.3) < 0.5, "\(Self.depth(area, 52.51, 13.402))")
            #expect(abs(Self.depth(area, 52.51, 13.398) + 135.3) < 0.5)
            // South west of a corner: the distance to it.
            let corner = SpherePoint(latitude: 52.50, longitude: 13.40)
            let outside = SpherePoint(latitude: 52.499, longitude: 13.399)
            #expect(abs(area.depth(of: outside) + corner.distance(to: outside)) < 1e-6)
            #expect(abs(area.radius - (2223.9 * 1353.6 / Double.pi).squareRoot()) < 2)
        }
    }

    @Test func `A concave polygon leaves out its bay`() throws {
        let area = try Self.polygon([(0, 0), (0, 3), (3, 3), (3, 2), (1, 2), (1, 1), (3, 1), (3, 0)])
        #expect(Self.depth(area, 2, 0.5) > 0 && Self.depth(area, 2, 2.5) > 0 && Self.depth(area, 0.5, 1.5) > 0)
        #expect(Self.depth(area, 2, 1.5) < 0)
    }

    @Test func `A polygon may cross the antimeridian`() throws {
        let area = try Self.polygon([(-1, 179), (-1, -179), (1, -179), (1, 179)])
        for longitude in [179.5, 180, -180, -179.5] { #expect(Self.depth(area, 0, longitude) > 0, "\(longitude)") }
        for longitude in [178.5, -178.5, 0, 90] { #expect(Self.depth(area, 0, longitude) < 0, "\(longitude)") }
        let here = try Self.polygon([(-1, -1), (-1, 1), (1, 1), (1, -1)])
        for (latitude, longitude) in [(0.3, 0.4), (0.99, -0.7), (1.2, 0.1), (-3, 2)] {
            let there = longitude + 180 > 180 ? longitude - 180 : longitude + 180
            #expect(abs(Self.depth(area, latitude, there) - Self.depth(here, latitude, longitude)) < 1e-3)
        }
    }

    @Test func `A polygon may have a pole inside, on its edge or at a corner`() throws {
        for sign in [1.0, -1] {
            let around = try Self.polygon([(sign * 80, 0), (sign * 80, 90), (sign * 80, 180), (sign * 80, -90)])
            #expect(Self.depth(around, sign * 90, 33) > 500_000)
            for longitude in stride(from: -180.0, through: 180, by: 30) {
                #expect(Self.depth(around, sign * 86, longitude) > 0 && Self.depth(around, sign * 79, longitude) < 0)
            }
            let beside = try Self.polygon([(sign * 90, 0), (sign * 80, 0), (sign * 80, 60)])
            #expect(Self.depth(beside, sign * 85, 30) > 0 && Self.depth(beside, sign * 85, -150) < 0)
            #expect(Self.depth(beside, sign * 85, 210 - 360) < 0)
            let through = try Self.polygon([(sign * 85, 0), (sign * 85, 180), (sign * 80, 90)])
            #expect(Self.depth(through, sign * 87, 90) > 0 && Self.depth(through, sign * 87, -90) < 0)
        }
    }

    /// An edge is the shortest way, which runs north of the parallel in the north.
    @Test func `Edges are parts of great circles`() throws {
        let area = try Self.polygon([(50, 0), (50, 40), (40, 20)])
        #expect(Self.depth(area, 51, 20) > 0 && Self.depth(area, 52, 20) < 0)
    }

    @Test func `A point far away costs one distance, and its side is right`() throws {
        let area = try Self.polygon([(0, 0), (0, 0.01), (0.01, 0.01)])
        for (latitude, longitude) in [(0.0, 1.0), (0, 100), (0, 180), (-90, 0), (60, -120)] {
            let point = SpherePoint(latitude: latitude, longitude: longitude)
            #expect(area.depth(of: point) < -100_000 && area.depth(of: point, horizon: 10) < -100_000)
        }
        let near = SpherePoint(latitude: -0.0001, longitude: 0.005)
        #expect(area.depth(of: near, horizon: 1000) == area.depth(of: near))
    }

    @Test func `Corners may lie on one line`() throws {
        let line: [Place] = (0..<99).map { (0, Double($0) / 100) }
        let area = try Self.polygon(line + [(1, 0.5)])
        #expect(Self.depth(area, 0.1, 0.5) > 0 && Self.depth(area, -0.1, 0.5) < 0)
    }

    /// In the plane and on the sphere the same is decided where both can be told apart by hand.
    @Test func `Small polygons agree with plane geometry`() throws {
        let area = try Self.polygon([(0, 0), (0, 0.1), (0.1, 0.1), (0.1, 0)])
        for row in -5...15 {
            for column in -5...15 {
                let (latitude, longitude) = (Double(row) * 0.01 + 0.003, Double(column) * 0.01 + 0.004)
                let isInside = (0...0.1).contains(latitude) && (0...0.1).contains(longitude)
                #expect((Self.depth(area, latitude, longitude) > 0) == isInside, "\(latitude) \(longitude)")
            }
        }
    }

    @Test(
        arguments: [
            // A bow tie, and a star around the pole.
            ([(0, 0), (1, 1), (0, 1), (1, 0)], "make edges that meet"),
            ([(80, 0), (80, 144), (80, -72), (80, 72), (80, -144)], "make edges that meet"),
            // A corner on another edge, and an edge that goes back on itself.
            ([(0, 0), (0, 2), (1, 1), (0, 1), (1, 0)], "make edges that meet"),
            ([(0, 0), (0, 2), (0, 1), (1, 1)], "make edges that meet"),
            ([(0, 0), (0, 1), (0, 2)], "make edges that meet"),
            ([(0, 0), (0, 1), (0, 1), (1, 1)], "is where corners[1] is"),
            ([(0, 0), (0, 1), (1, 1), (0, 0)], "is where corners[3] is"),
            ([(90, 0), (90, 50), (80, 0)], "is where corners[0] is"),
            ([(0, 180), (0, -180), (1, 0)], "is where corners[0] is"),
            ([(0, 0), (0, 0.000001), (0.000001, 0)], "less than 1 square meter"),
            ([(0, -60), (0, 60), (50, 0)], "km from the middle"),
            ([(0, 0), (0, 120), (0, -120)], "km from the middle"),
        ] as [([(Double, Double)], String)])
    func `A polygon without one clear area is refused`(corners: [(Double, Double)], reason: String) {
        do {
            _ = try Self.polygon(corners.map { ($0.0, $0.1) })
            Issue.record("accepted")
        } catch {
            #expect("\(error)".contains("geofence.corners") && "\(error)".contains(reason), "\(error)")
        }
    }
}
