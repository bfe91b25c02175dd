import Foundation
import JSON

/// A geofence of a profile, as the map and the list below it show it.
struct Geofence: Sendable {
    enum Form: Sendable {
        case circle(centre: GeoPosition, radiusMeters: Double)
        /// Three corners or more, in order around the area.
        case polygon([GeoPosition])
    }

    let name: String
    let form: Form

    /// `nil` for what describes no area.
    /// - Parameter value: an item of `geofences` of a profile.
    init?(_ value: JSONValue) {
        let corners = value["corners"].items
        let id = value["id"].text ?? ""
        name = value["name"].text.flatMap { $0.isEmpty ? nil : $0 } ?? id
        if corners.isEmpty {
            guard let centre = Self.position(value), let radius = value["radiusMeters"].number, radius > 0,
                radius.isFinite
            else { return nil }
            form = .circle(centre: centre, radiusMeters: min(radius, GeoPosition.greatestDistance))
        } else {
            let positions = corners.compactMap(Self.position)
            guard positions.count == corners.count, positions.count >= 3 else { return nil }
            form = .polygon(positions)
        }
    }

    init(name: String, form: Form) { (self.name, self.form) = (name, form) }

    /// A coordinate of 0 may be left out.
    private static func position(_ value: JSONValue) -> GeoPosition? {
        GeoPosition(latitude: value["latitude"].number ?? 0, longitude: value["longitude"].number ?? 0)
    }

    /// Whether a position is inside, by itself: neither its accuracy nor what was before counts, as it does on the
    /// device.
    func contains(_ position: GeoPosition) -> Bool {
        switch form {
        case .circle(let centre, let radius): return centre.distance(to: position) <= radius
        case .polygon(let corners):
            let projection = MapProjection(centre: position)
            let points = corners.map(projection.point)
            var isInside = false
            for (index, one) in points.enumerated() {
                let other = points[(index + 1) % points.count]
                // A ray from the position to the east.
                guard (one.north > 0) != (other.north > 0) else { continue }
                let east = one.east + (other.east - one.east) * (one.north / (one.north - other.north))
                if east > 0 { isInside.toggle() }
            }
            return isInside
        }
    }

    /// Whether it may be no wider than so many metres. Quick, for outlines that need not be computed.
    func mayFit(into width: Double) -> Bool {
        if case .circle(_, let radius) = form { 2 * radius <= width } else { true }
    }

    /// Whether the outline may come nearer to a place than so many metres.
    func outlineMayReach(_ position: GeoPosition, within distance: Double) -> Bool {
        switch form {
        case .circle(let centre, let radius): abs(centre.distance(to: position) - radius) <= distance
        // The outline is cut at the map's frame.
        case .polygon: true
        }
    }

    /// The outline on a map.
    /// - Parameter metersPerPixel: how fine it is: a circle is drawn within half a pixel, if `maximumSides` suffice.
    func outline(_ projection: MapProjection, metersPerPixel: Double) -> [MapPoint] {
        switch form {
        case .polygon(let corners): return corners.map(projection.point)
        case .circle(let centre, let radius):
            let sagitta = min(1, 0.5 * metersPerPixel / radius)
            let sides = Double.pi / acos(1 - sagitta)
            let count = sides.isFinite ? min(Self.maximumSides, max(24, Int(sides.rounded(.up)))) : Self.maximumSides
            return (0..<count).compactMap { side in
                centre.position(at: radius, bearing: 2 * .pi * Double(side) / Double(count)).map(projection.point)
            }
        }
    }

    private static let maximumSides = 2000
}
