// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension Definitions {
    static let ws1_gps_latitude = MetricDefinition(
        name: "ws1.gps.latitude", unit: "deg", kind: .gauge,
        description: "Latitude, WGS 84")
    static let ws1_gps_longitude = MetricDefinition(
        name: "ws1.gps.longitude", unit: "deg", kind: .gauge,
        description: "Longitude, WGS 84")
    static let ws1_gps_altitude = MetricDefinition(
        name: "ws1.gps.altitude", unit: "m", kind: .gauge,
        description: "Altitude")
    static let ws1_gps_accuracy = MetricDefinition(
        name: "ws1.gps.accuracy", unit: "m", kind: .gauge,
        description: "Accuracy of the position")
    static let ws1_gps_speed = MetricDefinition(
        name: "ws1.gps.speed", unit: "m/s", kind: .gauge,
        description: "Speed over ground")
    static let ws1_gps_course = MetricDefinition(
        name: "ws1.gps.course", unit: "deg", kind: .gauge,
        description: "Course over ground")
    static let ws1_gps_fix = MetricDefinition(
        name: "ws1.gps.fix", unit: "1", kind: .gauge,
        description: "1 without a fix, 2 for two dimensions, 3 for three")
    static let ws1_gps_satellites = MetricDefinition(
        name: "ws1.gps.satellites", unit: "{satellite}", kind: .upDownCounter,
        description: "Satellites seen and used")
    static let ws1_gps_accuracy_vertical = MetricDefinition(
        name: "ws1.gps.accuracy.vertical", unit: "m", kind: .gauge,
        description: "Accuracy of the altitude")
}

extension WireGPSSample: CatalogedSample {
    package static let metricCatalog = entries()

    private static func entries() -> [CatalogEntry<WireGPSSample>] {
        var entries: [CatalogEntry<WireGPSSample>] = []
        entries.append(
            CatalogEntry(field: "location.latitude", metric: Definitions.ws1_gps_latitude) { sample, emit in
                if sample.hasLocation {
                    emit(sample.location.latitude, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "location.longitude", metric: Definitions.ws1_gps_longitude) { sample, emit in
                if sample.hasLocation {
                    emit(sample.location.longitude, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "location.altitude_meters", metric: Definitions.ws1_gps_altitude) { sample, emit in
                if sample.location.hasAltitudeMeters {
                    emit(sample.location.altitudeMeters, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "location.accuracy_meters", metric: Definitions.ws1_gps_accuracy) { sample, emit in
                if sample.location.hasAccuracyMeters {
                    emit(sample.location.accuracyMeters, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "speed_meters_per_second", metric: Definitions.ws1_gps_speed) { sample, emit in
                if sample.hasSpeedMetersPerSecond {
                    emit(sample.speedMetersPerSecond, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "course_degrees", metric: Definitions.ws1_gps_course) { sample, emit in
                if sample.hasCourseDegrees {
                    emit(sample.courseDegrees, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "fix", metric: Definitions.ws1_gps_fix) { sample, emit in
                if sample.fix != 0 {
                    emit(Double(sample.fix), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "satellites_visible", metric: Definitions.ws1_gps_satellites) { sample, emit in
                if sample.hasSatellitesVisible {
                    emit(Double(sample.satellitesVisible), ["ws1.gps.satellite.state": .text("visible")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "satellites_used", metric: Definitions.ws1_gps_satellites) { sample, emit in
                if sample.hasSatellitesUsed {
                    emit(Double(sample.satellitesUsed), ["ws1.gps.satellite.state": .text("used")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "vertical_accuracy_meters", metric: Definitions.ws1_gps_accuracy_vertical) {
                sample, emit in
                if sample.hasVerticalAccuracyMeters {
                    emit(sample.verticalAccuracyMeters, [:], nil)
                }
            })
        return entries
    }

    package var sampleInterval: UInt64? {
        nil
    }
}
