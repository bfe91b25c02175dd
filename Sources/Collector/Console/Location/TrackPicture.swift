import Foundation
import JSON

/// A track as the values of the template `track`, which is SVG: no script and no foreign request.
struct TrackPicture {
    let map: TrackMap
    /// What the picture shows, in words.
    let description: String

    /// A longer name is cut in the picture.
    private static let nameLength = 24

    var values: JSONValue {
        [
            "width": .real(TrackMap.width), "height": .real(TrackMap.height), "description": .text(description),
            "lines": .array(map.lines.map { .text(Self.path($0)) }),
            "dots": .array(map.dots.map(Self.place)),
            "start": Self.place(map.start), "end": Self.place(map.end),
            "accuracy": map.accuracy.map { Self.place(map.end).with(["radius": .text(Self.number($0))]) } ?? .null,
            "areas": .array(
                map.areas.map { area in
                    Self.place(area.label).with([
                        "path": .text(Self.path(area.outline) + "Z"), "name": .text(Self.short(area.name)),
                    ])
                }),
            "scale": [
                "label": .text(Self.length(map.scale.meters)), "path": .text(Self.path(Self.bar(map.scale.pixels))),
            ],
            // At one place the two marks would hide each other.
            "hasStart": .boolean(hypot(map.start.x - map.end.x, map.start.y - map.end.y) >= 1),
        ]
    }

    private static func bar(_ pixels: Double) -> [TrackMap.Pixel] {
        let (left, bottom) = (16.0, TrackMap.height - 14)
        return [(0, -6), (0, 0), (pixels, 0), (pixels, -6)].map { TrackMap.Pixel(x: left + $0.0, y: bottom + $0.1) }
    }

    private static func place(_ pixel: TrackMap.Pixel) -> JSONValue {
        ["x": .text(number(pixel.x)), "y": .text(number(pixel.y))]
    }

    private static func path(_ pixels: [TrackMap.Pixel]) -> String {
        "M" + pixels.map { "\(number($0.x)) \(number($0.y))" }.joined(separator: "L")
    }

    /// A tenth of a pixel is finer than any screen.
    private static func number(_ value: Double) -> String {
        DisplayText.plain((value * 10).rounded() / 10 + 0)
    }

    private static func short(_ name: String) -> String {
        name.count > nameLength ? String(name.prefix(nameLength - 1)) + "…" : name
    }

    /// Metres, or kilometres from 1,000 m on.
    static func length(_ meters: Double) -> String {
        meters < 1000 ? "\(DisplayText.number(meters)) m" : "\(DisplayText.number(meters / 1000)) km"
    }

    /// Degrees to a metre's precision, without zeros at the end.
    static func degrees(_ value: Double) -> String {
        var text = String(format: "%.5f", value)
        while text.last == "0" { text.removeLast() }
        if text.last == "." { text.removeLast() }
        return text == "-0" ? "0" : text
    }
}
