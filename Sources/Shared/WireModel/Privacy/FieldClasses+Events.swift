extension FieldClasses {
    private static let eventValue = MessageFields(
        "Value",
        [
            .inherited(1, "text", .text), .inherited(2, "integer", .roundedInteger), .inherited(3, "real", .roundedReal),
            .inherited(4, "boolean", .flag), .inherited(5, "date", .date),
        ])

    // Figures of the program's own; only words can be a person's.
    private static let measurementValue = MessageFields(
        "Value",
        [
            .personal(1, "text", .custom, .text), .technical(2, "integer"), .technical(3, "real"), .technical(4, "boolean"),
            .technical(5, "date"),
        ])

    static let event = MessageFields(
        "Event",
        [
            .technical(1, "type"), .technical(2, "name"), .message(3, "value", eventValue, .event),
            .map(4, "attributes", of: eventValue, .event), .technical(5, "session_id"), .technical(6, "succeeded"),
            .technical(7, "duration_microseconds"),
        ])

    private static let measurement = MessageFields(
        "Measurement",
        [
            .technical(1, "name"), .technical(2, "unit"), .map(3, "attributes", .custom), .message(4, "value", measurementValue),
        ])

    static let customSample = MessageFields("CustomSample", [.message(1, "measurements", measurement)])
}
