import Testing

@testable import DataSampler

@Suite struct LocationFixTests {
    @Test(arguments: [
        (90.0, 180.0, true), (-90, -180, true), (0, 0, true), (90.1, 0, false), (0, 180.1, false), (.nan, 0, false),
        (0, .infinity, false),
    ])
    func `A position that cannot be is none`(latitude: Double, longitude: Double, isPossible: Bool) {
        let fix = LocationFix(latitude: latitude, longitude: longitude, time: 1)
        #expect((fix.checked != nil) == isPossible)
    }

    @Test func `Figures that cannot be are absent`() {
        let fix = LocationFix(
            latitude: 1, longitude: 2, altitude: .nan, horizontalAccuracy: -1, verticalAccuracy: .infinity, speed: -0.1,
            course: 361, time: 1)
        #expect(fix.checked == LocationFix(latitude: 1, longitude: 2, time: 1))
        let whole = LocationFix(
            latitude: 1, longitude: 2, altitude: -400, horizontalAccuracy: 0, verticalAccuracy: 3, speed: 4,
            course: 360, mode: .threeDimensional, satellites: .init(visible: 9, used: 8), time: 1)
        #expect(whole.checked?.course == 0 && whole.checked?.altitude == -400 && whole.checked?.speed == 4)
    }
}
