extension MetricCatalog {
    /// All metrics of a GPS sample.
    package static let gps: [CatalogEntry<WireGPSSample>] = [
        CatalogEntry("location.latitude", "ws1.gps.latitude", "deg", .gauge, "Latitude, WGS 84") {
            $0.hasLocation ? $0.location.latitude : nil
        },
        CatalogEntry("location.longitude", "ws1.gps.longitude", "deg", .gauge, "Longitude, WGS 84") {
            $0.hasLocation ? $0.location.longitude : nil
        },
        CatalogEntry("location.altitude_meters", "ws1.gps.altitude", "m", .gauge, "Altitude") {
            $0.location.hasAltitudeMeters ? $0.location.altitudeMeters : nil
        },
        CatalogEntry("location.accuracy_meters", "ws1.gps.accuracy", "m", .gauge, "Accuracy of the position") {
            $0.location.hasAccuracyMeters ? $0.location.accuracyMeters : nil
        },
        CatalogEntry("vertical_accuracy_meters", "ws1.gps.accuracy.vertical", "m", .gauge, "Accuracy of the altitude") {
            $0.hasVerticalAccuracyMeters ? $0.verticalAccuracyMeters : nil
        },
        CatalogEntry("speed_meters_per_second", "ws1.gps.speed", "m/s", .gauge, "Speed over ground") {
            $0.hasSpeedMetersPerSecond ? $0.speedMetersPerSecond : nil
        },
        CatalogEntry("course_degrees", "ws1.gps.course", "deg", .gauge, "Course over ground") {
            $0.hasCourseDegrees ? $0.courseDegrees : nil
        },
        CatalogEntry("fix", "ws1.gps.fix", "1", .gauge, "1 without a fix, 2 for two dimensions, 3 for three") {
            $0.fix > 0 ? Double($0.fix) : nil
        },
        CatalogEntry(
            "satellites_visible", "ws1.gps.satellites", "{satellite}", .upDownCounter, "Satellites seen and used",
            ["ws1.gps.satellite.state": "visible"]
        ) { $0.hasSatellitesVisible ? Double($0.satellitesVisible) : nil },
        CatalogEntry(
            "satellites_used", "ws1.gps.satellites", "{satellite}", .upDownCounter, "Satellites seen and used",
            ["ws1.gps.satellite.state": "used"]
        ) { $0.hasSatellitesUsed ? Double($0.satellitesUsed) : nil },
    ]
}
