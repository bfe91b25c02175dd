import Foundation

/// A gpsd on a free port of loopback with a receiver that moves along a line, second by second; gpsfake feeds it.
final class FakeReceiver {
    private static let program = "/usr/bin/gpsfake"
    /// Of one second: as gpsfake's pause is 0.2 s, a second of the track takes a second.
    private static let sentencesOfSecond = 5

    let port: UInt16
    private let process: MeasuredProcess

    /// - Parameter seconds: of the track. It begins again then, with a time that receivers do not have: make it longer.
    init(_ name: String, seconds: Int, in work: WorkDirectory) throws {
        guard FileManager.default.isExecutableFile(atPath: Self.program) else {
            throw BenchmarkError("\(Self.program) is not there. Install Debian's gpsd and gpsd-clients")
        }
        port = try CollectorProcess.freePort()
        let track = work.file("\(name).nmea")
        try Data((0..<seconds).map(Self.sentences).joined().utf8).write(to: URL(fileURLWithPath: track))
        process = try MeasuredProcess(
            "gpsfake", binary: Self.program, arguments: ["-q", "-c", "0.2", "-P", "\(port)", track],
            log: work.file("\(name)-gpsfake.log"))
    }

    /// The process of its gpsd.
    func daemon() throws -> pid_t {
        let parent = process.identifier
        let children = try String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
        guard let child = children.split(separator: " ").first.flatMap({ pid_t($0) }) else {
            throw BenchmarkError("gpsfake has started no gpsd: its log says why")
        }
        return child
    }

    private static func sentences(second: Int) -> String {
        let time = String(format: "%02d%02d%02d.00", 8 + second / 3600, second / 60 % 60, second % 60)
        let north = String(format: "52%08.5f", 30 + Double(second) * 0.005)
        let east = String(format: "013%08.5f", 20 + Double(second) * 0.005)
        let sentences = [
            "GPRMC,\(time),A,\(north),N,\(east),E,022.4,084.4,080625,003.1,W,A",
            "GPGGA,\(time),\(north),N,\(east),E,1,08,0.9,545.4,M,46.9,M,,",
            "GPGSA,A,3,04,05,09,12,24,25,29,30,,,,,1.8,0.9,1.5",
            "GPGSV,2,1,08,04,40,083,46,05,17,308,41,09,07,344,39,12,22,228,45",
            "GPGSV,2,2,08,24,55,100,40,25,30,200,41,29,60,010,42,30,20,050,38",
        ]
        precondition(sentences.count == sentencesOfSecond)
        return sentences.map { String(format: "$%@*%02X\r\n", $0, $0.utf8.reduce(UInt8(0), ^)) }.joined()
    }
}
