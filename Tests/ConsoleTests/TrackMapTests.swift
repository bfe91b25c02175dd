import Foundation
import JSON
import Testing

@testable import Console

@Suite struct TrackMapTests {
    private static let minute: Int64 = 60_000_000

    private static func fixes(_ places: [(Double, Double)], gaps: Set<Int> = []) throws -> [TrackMap.Fix] {
        try places.enumerated().map { index, place in
            TrackMap.Fix(
                time: Int64(index) * minute,
                position: try #require(GeoPosition(latitude: place.0, longitude: place.1)),
                isAfterGap: gaps.contains(index))
        }
    }

    private static func pixels(_ map: TrackMap) -> [TrackMap.Pixel] {
        map.lines.flatMap { $0 } + map.dots + [map.start, map.end]
    }

    private static func isInside(_ pixel: TrackMap.Pixel, by margin: Double = 0) -> Bool {
        (-margin...TrackMap.width + margin).contains(pixel.x) && (-margin...TrackMap.height + margin).contains(pixel.y)
    }

    @Test(
        arguments: [
            [(52.5, 13.4)], [(52.5, 13.4), (52.5, 13.4), (52.5, 13.4)], [(-0.0, -0.0)], [(90, 0)],
            [(90, 0), (90, 180), (-90, 0)], [(0, 0), (0, 180)], [(0, 179.999), (0, -179.999)],
            [(89.999, 0), (89.999, 90), (89.999, 180), (89.999, -90)], [(-54, -68), (71, 25), (0, 180), (0, -180)],
            [(52.5, 13.4), (52.500_000_000_1, 13.4)],
        ] as [[(Double, Double)]])
    func `Every track is inside of its picture`(places: [(Double, Double)]) throws {
        let map = try #require(TrackMap(try Self.fixes(places)))
        for pixel in Self.pixels(map) { #expect(Self.isInside(pixel), "\(pixel)") }
        #expect(map.scale.pixels > 20 && map.scale.pixels <= TrackMap.width / 5 && map.scale.meters > 0)
        #expect(!map.lines.isEmpty || !map.dots.isEmpty)
    }

    @Test func `No position is no picture`() { #expect(TrackMap([]) == nil) }

    @Test(arguments: [60.0, 0, -60])
    func `A square of metres is a square of pixels at every latitude, north up`(latitude: Double) throws {
        let corner = try #require(GeoPosition(latitude: latitude, longitude: 179.999))
        let north = try #require(corner.position(at: 1000, bearing: 0))
        let east = try #require(corner.position(at: 1000, bearing: .pi / 2))
        let map = try #require(
            TrackMap(try Self.fixes([corner, north, corner, east].map { ($0.latitude, $0.longitude) })))
        let line = try #require(map.lines.first)
        #expect(map.lines.count == 1 && line.count == 4)
        #expect(abs((line[0].y - line[1].y) - (line[3].x - line[2].x)) < 0.5)
        #expect(line[1].y < line[0].y && abs(line[1].x - line[0].x) < 0.5)
        #expect(line[3].x > line[2].x && abs(line[3].y - line[2].y) < 0.5)
        // The scale is true.
        #expect(abs((line[0].y - line[1].y) / 1000 - map.scale.pixels / map.scale.meters) < 1e-3)
        #expect(abs(map.span.east - 1000) < 1 && abs(map.span.north - 1000) < 1)
    }

    @Test func `A lost fix and a long pause interrupt the line`() throws {
        var fixes = try Self.fixes([(1, 1), (1.01, 1), (1.02, 1), (1.03, 1), (1.04, 1), (1.05, 1)], gaps: [2])
        #expect(try #require(TrackMap(fixes)).lines.map(\.count) == [2, 4])
        fixes[5].time += 60 * Self.minute
        let map = try #require(TrackMap(fixes))
        #expect(map.lines.map(\.count) == [2, 3] && map.dots.count == 1)
        // Nine minutes are none, and neither is an hour where positions come by the hour.
        fixes = try Self.fixes([(1, 1), (1.01, 1), (1.02, 1)])
        fixes[2].time += 8 * Self.minute
        #expect(try #require(TrackMap(fixes)).lines.count == 1)
        for index in fixes.indices { fixes[index].time = Int64(index) * 60 * Self.minute }
        #expect(try #require(TrackMap(fixes)).lines.count == 1)
    }

    @Test func `Positions nearer than a pixel are not drawn`() throws {
        let places = (0..<100_000).map { index -> (Double, Double) in
            let (noise, way) = (Double(index % 7) * 1e-9, Double(index) * 1e-6)
            return (50 + noise, 10 + way)
        }
        let map = try #require(TrackMap(try Self.fixes(places)))
        #expect(map.lines.count == 1 && map.lines[0].count <= Int(TrackMap.width))
    }

    @Test func `Geofences near the track are drawn whole, others only as far as they are seen`() throws {
        let fixes = try Self.fixes([(50, 10), (50.001, 10.001)])
        func fence(_ latitude: Double, _ longitude: Double, _ radius: Double) throws -> Geofence {
            Geofence(
                name: "f",
                form: .circle(
                    centre: try #require(GeoPosition(latitude: latitude, longitude: longitude)),
                    radiusMeters: radius))
        }
        let near = try #require(TrackMap(fixes, geofences: [try fence(50, 10, 500)]))
        #expect(near.areas.count == 1)
        #expect(near.areas[0].outline.allSatisfy { Self.isInside($0) })
        // Its edge goes through the picture.
        let wide = try #require(TrackMap(fixes, geofences: [try fence(50, 10.7015, 50_000)]))
        #expect(wide.areas.count == 1)
        #expect(wide.areas[0].outline.allSatisfy { Self.isInside($0, by: 5) })
        #expect(Self.isInside(wide.areas[0].label))
        // All around, and elsewhere.
        for (latitude, longitude, radius) in [(50.0, 10.0, 100_000.0), (-50.0, -170.0, 1000.0), (50.0, 10.0, 2e7)] {
            let map = try #require(TrackMap(fixes, geofences: [try fence(latitude, longitude, radius)]))
            #expect(map.areas.isEmpty, "\(latitude) \(longitude) \(radius)")
        }
    }

    @Test func `A polygon that reaches far is cut at the picture`() throws {
        let fixes = try Self.fixes([(50, 10), (50.001, 10.001)])
        let fence = Geofence(
            name: "half",
            form: .polygon(
                try [(50.0005, 9.99), (50.0005, 10.01), (48.0, 10.0)].map {
                    try #require(GeoPosition(latitude: $0.0, longitude: $0.1))
                }))
        let map = try #require(TrackMap(fixes, geofences: [fence]))
        #expect(map.areas.count == 1)
        for area in map.areas {
            #expect(area.outline.allSatisfy { Self.isInside($0, by: 5) && $0.x.isFinite && $0.y.isFinite })
        }
    }

    @Test func `The same track is the same picture`() throws {
        let fixes = try Self.fixes([(1, 1), (1.01, 1.002), (1.02, 1)])
        let pictures = try (0..<2).map { _ in
            TrackPicture(map: try #require(TrackMap(fixes, accuracy: 400)), description: "").values
        }
        #expect(pictures[0] == pictures[1])
        #expect(pictures[0]["accuracy"] != .null)
    }

    @Test(arguments: [
        (52.52, "52.52"), (-0.000_001, "0"), (100, "100"), (-13.405_123_4, "-13.40512"), (0.1, "0.1"),
    ]) func `Degrees are written to the metre`(value: Double, text: String) {
        #expect(TrackPicture.degrees(value) == text)
    }
}
