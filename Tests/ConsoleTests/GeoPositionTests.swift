import Foundation
import Testing

@testable import Console

@Suite struct GeoPositionTests {
    private static func position(_ latitude: Double, _ longitude: Double) throws -> GeoPosition {
        try #require(GeoPosition(latitude: latitude, longitude: longitude))
    }

    @Test(arguments: [(91, 0), (-90.1, 0), (0, 181), (.nan, 0), (0, .nan), (.infinity, 0)] as [(Double, Double)])
    func `What is nowhere on Earth is no position`(latitude: Double, longitude: Double) {
        #expect(GeoPosition(latitude: latitude, longitude: longitude) == nil)
    }

    /// Great circles on a sphere of the mean radius, computed by haversines.
    @Test(
        arguments: [
            (52.52, 13.405, 48.8566, 2.3522, 877_463), (0, 179.5, 0, -179.5, 111_195), (89.9, 0, 89.9, 180, 22_239),
            (90, 0, -90, 0, 20_015_115), (10, 20, 10, 20, 0),
        ] as [(Double, Double, Double, Double, Double)])
    func `Distances are right across the antimeridian and the poles`(
        latitude: Double, longitude: Double, otherLatitude: Double, otherLongitude: Double, meters: Double
    ) throws {
        let (one, other) = (
            try Self.position(latitude, longitude), try Self.position(otherLatitude, otherLongitude)
        )
        #expect(abs(one.distance(to: other) - meters) < 1 + meters * 1e-4)
        #expect(abs(one.distance(to: other) - other.distance(to: one)) < 1)
    }

    @Test(arguments: [(0, 0), (70, 25), (-54.8, -68.3), (0, 180), (80, -180)] as [(Double, Double)])
    func `East is to the right and north is up, by the metre`(latitude: Double, longitude: Double) throws {
        let centre = try Self.position(latitude, longitude)
        let projection = MapProjection(centre: centre)
        let sides: [(Double, Double, Double)] = [
            (0, 0, 100), (Double.pi / 2, 100, 0), (Double.pi, 0, -100), (-Double.pi / 2, -100, 0),
        ]
        for (bearing, east, north) in sides {
            let point = projection.point(of: try #require(centre.position(at: 100, bearing: bearing)))
            #expect(abs(point.east - east) < 0.01 && abs(point.north - north) < 0.01, "\(bearing): \(point)")
        }
        #expect(projection.point(of: centre) == MapPoint(east: 0, north: 0))
    }

    @Test func `The opposite of the centre is on the map, too`() throws {
        let point = MapProjection(centre: try Self.position(0, 0)).point(of: try Self.position(0, 180))
        #expect(abs(hypot(point.east, point.north) - GeoPosition.greatestDistance) < 1)
    }
}
