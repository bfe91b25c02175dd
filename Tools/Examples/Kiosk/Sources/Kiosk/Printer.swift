import DataSampler

/// The paper in the kiosk's printer, every second.
struct Printer: CustomSampleModule {
    let name = "kiosk.printer"
    let sampleInterval: Double? = 1

    func sample() async throws -> [SampleMeasurement] {
        [
            SampleMeasurement(
                name: "kiosk.printer.sheets", unit: "{sheet}", attributes: ["tray": "1"],
                value: .integer(try sheetsLeft()))
        ]
    }

    /// Asks the printer. This one is imagined.
    private func sheetsLeft() throws -> Int64 { 97 }
}
