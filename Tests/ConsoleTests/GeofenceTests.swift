import JSON
import Testing

@testable import Console

@Suite struct GeofenceTests {
    private static let yard: JSONValue = [
        "id": "yard", "name": "The yard",
        "corners": [
            ["latitude": 10, "longitude": .real(179.9)], ["latitude": 10, "longitude": .real(-179.9)],
            ["latitude": .real(10.1), "longitude": .real(-179.9)],
            ["latitude": .real(10.1), "longitude": .real(179.9)],
        ],
    ]

    private static func position(_ latitude: Double, _ longitude: Double) throws -> GeoPosition {
        try #require(GeoPosition(latitude: latitude, longitude: longitude))
    }

    @Test func `A polygon across the antimeridian has an inside`() throws {
        let fence = try #require(Geofence(Self.yard))
        #expect(fence.name == "The yard")
        for (latitude, longitude, isInside) in [
            (10.05, 180.0, true), (10.05, -180, true), (10.05, 179.95, true), (10.05, 179.8, false),
            (10.2, 180, false), (10.05, 0, false),
        ] {
            #expect(fence.contains(try Self.position(latitude, longitude)) == isInside, "\(latitude), \(longitude)")
        }
    }

    @Test func `A circle has its radius in metres, near the poles too`() throws {
        let fence = try #require(
            Geofence(["id": "camp", "latitude": .real(89.99), "longitude": 0, "radiusMeters": 2000]))
        #expect(fence.name == "camp")
        // The pole is 1,112 m away, and the place behind it 2,224 m.
        #expect(fence.contains(try Self.position(90, 0)))
        #expect(!fence.contains(try Self.position(89.99, 180)))
    }

    @Test(
        arguments: [
            [:], ["latitude": 1, "longitude": 1], ["latitude": 91, "longitude": 1, "radiusMeters": 5],
            ["latitude": 1, "longitude": 1, "radiusMeters": -5], ["latitude": 1, "radiusMeters": .real(.nan)],
            ["latitude": 1, "radiusMeters": .real(.infinity)],
            ["corners": [["latitude": 1], ["longitude": 1]]], ["corners": [[:], ["latitude": 1], ["longitude": 181]]],
        ] as [JSONValue])
    func `What describes no area is not shown`(value: JSONValue) {
        #expect(Geofence(value) == nil)
    }

    @Test func `A circle is drawn as finely as its picture`() throws {
        let fence = try #require(Geofence(["id": "a", "latitude": 1, "longitude": 1, "radiusMeters": 20_000_000]))
        let projection = MapProjection(centre: try Self.position(1, 1))
        for metersPerPixel in [1e-9, 1, 1e9] {
            let outline = fence.outline(projection, metersPerPixel: metersPerPixel)
            #expect((24...2000).contains(outline.count))
            #expect(outline.allSatisfy { $0.east.isFinite && $0.north.isFinite })
        }
    }
}
