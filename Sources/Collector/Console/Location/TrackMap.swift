import Foundation

/// A track as a picture: where its lines, marks and scale are, in pixels of the picture. Pure: the same positions make
/// the same picture.
///
/// What is drawn is bounded: a position nearer than a pixel to the one before is not drawn, the outline of a geofence
/// is cut at the frame, and no coordinate is outside of the frame by more than a few pixels.
struct TrackMap {
    struct Fix: Sendable {
        /// Microseconds since 1970.
        var time: Int64
        var position: GeoPosition
        /// Whether the device had no position for a while before it.
        var isAfterGap = false
    }

    struct Pixel: Equatable, Sendable {
        var x: Double
        /// Down.
        var y: Double
    }

    /// A geofence of which a part is to be seen.
    struct Area: Sendable {
        var name: String
        var outline: [Pixel]
        var label: Pixel
    }

    struct Scale: Sendable {
        var meters: Double
        var pixels: Double
    }

    static let width = 720.0
    static let height = 440.0
    /// Around what is shown.
    private static let margin = 36.0
    /// The least that is shown, in metres: a device that stands still is not magnified until the receiver's noise fills
    /// the picture.
    private static let leastSpan = 100.0
    /// Geofences so near to the track are shown whole.
    private static let surroundings = 2000.0
    /// Pauses that are shorter never interrupt the line, in seconds.
    private static let leastPause = 600.0

    /// Lines of two pixels or more.
    let lines: [[Pixel]]
    /// Positions without a neighbour.
    let dots: [Pixel]
    let start: Pixel
    let end: Pixel
    /// Of the newest position, in pixels; `nil` if it is not known, or too small or large to be seen.
    let accuracy: Double?
    let areas: [Area]
    let scale: Scale
    /// The metres that the track spans from west to east and from south to north.
    let span: MapPoint

    /// `nil` without a fix.
    /// - Parameters:
    ///   - fixes: oldest first.
    ///   - accuracy: of the last fix, in metres.
    init?(_ fixes: [Fix], accuracy: Double? = nil, geofences: [Geofence] = []) {
        guard let first = fixes.first else { return nil }
        let projection = MapProjection(centre: Self.centre(of: fixes.map(\.position)) ?? first.position)
        let points = fixes.map { projection.point(of: $0.position) }
        var frame = Bounds(points)
        span = MapPoint(east: frame.width, north: frame.height)
        let reach = max(Self.surroundings, 2 * max(frame.width, frame.height))
        let near = Bounds(around: frame.middle, by: reach + max(frame.width, frame.height) / 2)
        for fence in geofences where fence.mayFit(into: near.width) {
            let outline = Bounds(fence.outline(projection, metersPerPixel: reach))
            if near.contains(outline) { frame.include(outline) }
        }
        let view = Viewport(frame, leastSpan: max(Self.leastSpan, min(3 * (accuracy ?? 0), 1_000_000)))
        let pixels = points.map(view.pixel)
        (lines, dots) = Self.runs(pixels, interruptedBefore: Self.interruptions(fixes))
        (start, end) = (pixels[0], pixels[pixels.count - 1])
        self.accuracy = accuracy.map { $0 / view.metersPerPixel }.flatMap { (4...1000).contains($0) ? $0 : nil }
        areas = Self.areas(geofences, projection, view, frame)
        scale = Self.scale(view)
    }

    /// The middle of the box around the positions in space: it depends neither on the antimeridian nor on how many
    /// positions there are at one place.
    private static func centre(of positions: [GeoPosition]) -> GeoPosition? {
        let vectors = positions.map(\.vector)
        let (least, greatest) = vectors.reduce((vectors[0], vectors[0])) {
            (pointwiseMin($0.0, $1), pointwiseMax($0.1, $1))
        }
        return GeoPosition(direction: (least + greatest) / 2)
    }

    // MARK: Lines

    /// Before which fixes the line is interrupted: after a lost fix, and after a pause of five times the usual time
    /// between positions.
    private static func interruptions(_ fixes: [Fix]) -> [Bool] {
        let pauses = zip(fixes, fixes.dropFirst()).map { (Double($1.time) - Double($0.time)) / 1_000_000 }
        let usual = pauses.isEmpty ? 0 : pauses.sorted()[pauses.count / 2]
        let longest = max(leastPause, 5 * usual)
        return [false] + zip(pauses, fixes.dropFirst()).map { $0 > longest || $1.isAfterGap }
    }

    private static func runs(
        _ pixels: [Pixel], interruptedBefore: [Bool]
    ) -> (lines: [[Pixel]], dots: [Pixel]) {
        var runs: [[Pixel]] = []
        for (pixel, isInterrupted) in zip(pixels, interruptedBefore) {
            if isInterrupted || runs.isEmpty {
                runs.append([pixel])
            } else if let last = runs[runs.count - 1].last, hypot(last.x - pixel.x, last.y - pixel.y) >= 1 {
                runs[runs.count - 1].append(pixel)
            }
        }
        return (runs.filter { $0.count > 1 }, runs.filter { $0.count == 1 }.map { $0[0] })
    }

    // MARK: Geofences

    private static func areas(
        _ geofences: [Geofence], _ projection: MapProjection, _ view: Viewport, _ frame: Bounds
    ) -> [Area] {
        let distance = view.metersPerPixel * hypot(width, height)
        return geofences.compactMap { fence in
            // Far outlines are not computed: a profile may have hundreds.
            guard
                fence.outlineMayReach(
                    projection.centre, within: distance + hypot(frame.middle.east, frame.middle.north))
            else { return nil }
            let pixels = fence.outline(projection, metersPerPixel: view.metersPerPixel).map(view.pixel)
            let outline = Viewport.cut(pixels)
            guard outline.count >= 3, let top = outline.min(by: { ($0.y, $0.x) < ($1.y, $1.x) }) else { return nil }
            // What covers the whole picture has no outline to show.
            let area = Viewport.area(of: outline)
            guard area > 0, area < Viewport.wholeArea - 1 else { return nil }
            let label = Pixel(x: min(max(top.x, 60), width - 60), y: min(max(top.y + 16, 18), height - 40))
            return Area(name: fence.name, outline: outline, label: label)
        }
    }

    // MARK: Scale

    /// A round length of at most a fifth of the picture.
    private static func scale(_ view: Viewport) -> Scale {
        let most = view.metersPerPixel * width / 5
        let power = pow(10, log10(most).rounded(.down))
        let meters = [5.0, 2, 1].map { $0 * power }.first { $0 <= most } ?? power
        return Scale(meters: meters, pixels: meters / view.metersPerPixel)
    }

    // MARK: The part of the map that is shown

    private struct Bounds {
        var (west, east, south, north) = (0.0, 0.0, 0.0, 0.0)

        init(_ points: [MapPoint]) {
            guard let first = points.first else { return }
            (west, east, south, north) = (first.east, first.east, first.north, first.north)
            for point in points {
                (west, east) = (min(west, point.east), max(east, point.east))
                (south, north) = (min(south, point.north), max(north, point.north))
            }
        }

        init(around middle: MapPoint, by distance: Double) {
            (west, east) = (middle.east - distance, middle.east + distance)
            (south, north) = (middle.north - distance, middle.north + distance)
        }

        var width: Double { east - west }
        var height: Double { north - south }
        var middle: MapPoint { MapPoint(east: (west + east) / 2, north: (south + north) / 2) }

        func contains(_ other: Bounds) -> Bool {
            west <= other.west && east >= other.east && south <= other.south && north >= other.north
        }

        mutating func include(_ other: Bounds) {
            (west, east) = (min(west, other.west), max(east, other.east))
            (south, north) = (min(south, other.south), max(north, other.north))
        }
    }

    private struct Viewport {
        let middle: MapPoint
        let metersPerPixel: Double

        init(_ bounds: Bounds, leastSpan: Double) {
            middle = bounds.middle
            metersPerPixel = max(
                max(bounds.width, leastSpan) / (TrackMap.width - 2 * margin),
                max(bounds.height, leastSpan) / (TrackMap.height - 2 * margin))
        }

        func pixel(_ point: MapPoint) -> Pixel {
            Pixel(
                x: TrackMap.width / 2 + (point.east - middle.east) / metersPerPixel,
                y: TrackMap.height / 2 - (point.north - middle.north) / metersPerPixel)
        }

        /// Outlines are cut outside of the frame, so that the cut is not to be seen.
        private static let overhang = 4.0

        static let wholeArea = (TrackMap.width + 2 * overhang) * (TrackMap.height + 2 * overhang)

        /// In square pixels.
        static func area(of polygon: [Pixel]) -> Double {
            let doubled = polygon.indices.reduce(0.0) { sum, index in
                let (one, other) = (polygon[index], polygon[(index + 1) % polygon.count])
                return sum + one.x * other.y - other.x * one.y
            }
            return abs(doubled) / 2
        }

        /// A polygon cut at the frame, one edge after the other (Sutherland and Hodgman).
        static func cut(_ polygon: [Pixel]) -> [Pixel] {
            let (right, bottom) = (TrackMap.width + overhang, TrackMap.height + overhang)
            var polygon = polygon
            polygon = cut(polygon) { $0.x + overhang }
            polygon = cut(polygon) { right - $0.x }
            polygon = cut(polygon) { $0.y + overhang }
            return cut(polygon) { bottom - $0.y }
        }

        /// - Parameter depth: how far a pixel is inside of the edge.
        private static func cut(_ polygon: [Pixel], _ depth: (Pixel) -> Double) -> [Pixel] {
            var kept: [Pixel] = []
            for (index, one) in polygon.enumerated() {
                let other = polygon[(index + 1) % polygon.count]
                let (here, there) = (depth(one), depth(other))
                if here >= 0 { kept.append(one) }
                if (here >= 0) != (there >= 0) {
                    let share = here / (here - there)
                    kept.append(Pixel(x: one.x + (other.x - one.x) * share, y: one.y + (other.y - one.y) * share))
                }
            }
            return kept
        }
    }
}
