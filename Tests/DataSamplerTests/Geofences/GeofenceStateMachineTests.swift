import Foundation
import SwiftProtobuf
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite struct GeofenceStateMachineTests {
    /// Meters of a degree of latitude.
    private static let degree = 111_195.08

    private static func circle(_ id: String = "yard", radius: Double = 200, latitude: Double = 0) -> WireGeofence {
        .with { ($0.id, $0.latitude, $0.longitude, $0.radiusMeters) = (id, latitude, 0, radius) }
    }

    /// A square of 2 km on the equator whose western edge lies on the meridian of Greenwich.
    private static let square = WireGeofence.with {
        $0.id = "square"
        let side = 2000 / degree
        $0.corners = [(-side / 2, 0), (side / 2, 0), (side / 2, side), (-side / 2, side)].map { corner in
            .with { ($0.latitude, $0.longitude) = corner }
        }
    }

    /// Gives positions on the meridian of a circle's centre, or on the equator.
    private struct Track {
        var machine: GeofenceStateMachine
        var time: Int64 = 1_700_000_000_000_000
        var crossings: [GeofenceStateMachine.Crossing] = []

        init(_ fences: [WireGeofence], _ kept: GeofenceStates = GeofenceStates()) {
            machine = GeofenceStateMachine(kept)
            machine.follow(fences)
        }

        /// - Parameters:
        ///   - meters: north of the equator.
        ///   - east: meters.
        @discardableResult
        mutating func at(
            _ meters: Double, east: Double = 0, accuracy: Double? = 5, wallTime: Int64? = nil
        ) -> [GeofenceStateMachine.Crossing] {
            time += 10_000_000
            let found = machine.located(
                .init(latitude: meters / degree, longitude: east / degree, accuracy: accuracy, time: time),
                wallTime: wallTime ?? time, queueTime: time)
            crossings += found
            return found
        }

        func side(_ number: Int = 0) -> GeofenceSide { machine.report[number].side }
    }

    /// Two standard deviations are the accuracy.
    private static func noise(_ accuracy: Double, _ generator: inout SplitMix64) -> Double {
        let (first, second) = (
            Double.random(in: .leastNonzeroMagnitude..<1, using: &generator),
            Double.random(in: 0..<1, using: &generator)
        )
        return accuracy / 2 * (-2 * log(first)).squareRoot() * cos(2 * .pi * second)
    }

    @Test func `A device that goes in and out is told once each way`() {
        var track = Track([Self.circle()])
        for meters in stride(from: 1000.0, through: -1000, by: -20) { track.at(meters) }
        #expect(track.crossings.map(\.isInside) == [true, false] && track.crossings.map(\.fence) == ["yard", "yard"])
        // Inside from about 200 m north to 200 m south, at 2 m/s.
        let inside = track.crossings.last?.inside.map { $0 / .seconds(1) }
        #expect(inside.map { (180...240).contains($0) } == true && track.crossings.first?.inside == nil)
    }

    @Test func `A device that is inside already enters once, and one that is outside says nothing`() {
        var track = Track([Self.circle(), Self.circle("far", latitude: 10)])
        #expect(track.side() == .unknown && track.side(1) == .unknown)
        #expect(track.at(0).map(\.fence) == ["yard"])
        #expect(track.side() == .inside && track.side(1) == .outside)
        for _ in 0..<10 { track.at(0) }
        #expect(track.crossings.count == 1)
    }

    /// The device walks at random along the edge, and its receiver errs at random. Seen without hysteresis, the edge is
    /// crossed all the time.
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64]) func `A noisy track along an edge does not flap`(
        seed: UInt64
    ) {
        var generator = SplitMix64(seed: seed)
        for isPolygon in [false, true] {
            var track = Track([isPolygon ? Self.square : Self.circle("circle", radius: 20_000)])
            var (offset, wasInside, real, sinceEvent, naive) = (-100.0, Bool?.none, 0, 0, 0)
            var (lastSeen, moved, unaccounted) = (Bool?.none, 0.0, 0)
            for _ in 0..<5000 {
                // Up to 12 m to either side of the edge most of the time, far away now and then.
                offset += Double.random(in: -4...4, using: &generator) - offset * 0.01
                moved += Double.random(in: -5...5, using: &generator)
                let accuracy = Double.random(in: 3...40, using: &generator)
                let isInside = offset > 0
                if let wasInside, wasInside != isInside { (real, sinceEvent) = (real + 1, sinceEvent + 1) }
                wasInside = isInside
                let seen = offset + Self.noise(accuracy, &generator)
                if let lastSeen, lastSeen != (seen > 0) { naive += 1 }
                lastSeen = seen > 0
                let found =
                    isPolygon
                    ? track.at(max(-800, min(800, moved)), east: seen, accuracy: accuracy)
                    : track.at(20_000 - seen, accuracy: accuracy)
                for _ in found {
                    // The first one may only say where the device was when it began.
                    if sinceEvent == 0, track.crossings.count > 1 { unaccounted += 1 }
                    sinceEvent = 0
                }
            }
            #expect(naive > 500 && real > 20, "the track tests nothing: \(naive) \(real)")
            #expect(unaccounted == 0 && track.crossings.count <= real + 1, "\(track.crossings.count) of \(real)")
        }
    }

    /// Between events lie real crossings, but none here.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func `A device that rests at an edge stays where it was`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for start in [0.0, 400] {
            var track = Track([Self.circle()])
            track.at(start)
            let events = track.crossings.count
            for _ in 0..<5000 {
                let accuracy = Double.random(in: 3...60, using: &generator)
                track.at(200.5 + Self.noise(accuracy, &generator), accuracy: accuracy)
            }
            #expect(track.crossings.count == events && track.side() == (start == 0 ? .inside : .outside))
        }
    }

    @Test func `Positions near the edge decide together, far from it at once`() {
        var track = Track([Self.circle()])
        // 12 m inside, 2.4 times the accuracy.
        for _ in 0..<2 { #expect(track.at(188).isEmpty) }
        #expect(track.at(188).count == 1)
        // 12 m outside; one that is too near begins anew.
        for meters in [212.0, 212, 206, 212, 212] { #expect(track.at(meters).isEmpty) }
        #expect(track.at(212).count == 1)
        for _ in 0..<2 { track.at(188) }
        track.machine.lost()
        for _ in 0..<2 { #expect(track.at(188).isEmpty, "not in succession") }
        #expect(track.at(184).count == 1, "more than three times")
    }

    @Test(arguments: [201, 1000, 1e8, -1, .nan, .infinity, nil] as [Double?])
    func `A position that is worse than the radius, or of which nothing is known, changes no state`(accuracy: Double?) {
        var track = Track([Self.circle()])
        for meters in [0.0, 50_000] { for _ in 0..<20 { track.at(meters, accuracy: accuracy) } }
        #expect(track.crossings.isEmpty && track.side() == .unknown)
        track.at(0)
        for _ in 0..<20 { track.at(900_000, accuracy: accuracy) }
        #expect(track.crossings.count == 1 && track.side() == .inside)
    }

    @Test func `A position that is given twice counts once`() {
        var machine = GeofenceStateMachine()
        machine.follow([Self.circle()])
        for _ in 0..<10 {
            let same = GeofenceStateMachine.Position(
                latitude: 188 / Self.degree, longitude: 0, accuracy: 5, time: 1)
            #expect(machine.located(same, wallTime: 1, queueTime: 1).isEmpty)
        }
    }

    @Test func `An accuracy that is too good to be true counts as one meter`() {
        var track = Track([Self.circle()])
        track.at(0)
        for number in 0..<100 { track.at(number.isMultiple(of: 2) ? 199 : 201, accuracy: 0) }
        #expect(track.crossings.count == 1)
    }

    @Test func `States are kept over restarts, and confirmed before a rule sees them`() {
        var track = Track([Self.circle()])
        track.at(0)
        var next = Track([Self.circle()], track.machine.kept)
        #expect(next.machine.kept == track.machine.kept && next.side() == .unknown)
        #expect(next.at(0).isEmpty && next.side() == .inside, "entered before")
        var moved = Track([Self.circle()], track.machine.kept)
        moved.time = track.time + 3_600_000_000
        let left = moved.at(5000)
        #expect(left.map(\.isInside) == [false] && left[0].inside == .seconds(3610))
    }

    @Test func `Without permission to read positions no side is known, and nothing is told anew`() {
        var track = Track([Self.circle()])
        track.at(0)
        track.machine.paused()
        #expect(track.side() == .unknown && track.machine.kept.states["yard"]?.isInside == true)
        #expect(track.at(0).isEmpty && track.side() == .inside)
        track.machine.paused()
        #expect(track.at(900).map(\.isInside) == [false])
    }

    @Test func `A lost position keeps the side`() {
        var track = Track([Self.circle()])
        track.at(0)
        track.machine.lost()
        #expect(track.side() == .inside)
    }

    @Test func `A changed area is decided anew without a false crossing`() {
        var track = Track([Self.circle()])
        track.at(0)
        track.machine.follow([Self.circle(radius: 300)])
        #expect(track.side() == .unknown)
        #expect(track.at(0).isEmpty && track.side() == .inside, "it did not leave")
        track.machine.follow([Self.circle(latitude: 1)])
        #expect(track.at(0).map(\.isInside) == [false], "the area went away")
        var renamed = Self.circle(latitude: 1)
        renamed.name = "Yard"
        track.machine.follow([renamed])
        #expect(track.side() == .outside && track.machine.report[0].fence.name == "Yard")
    }

    @Test func `A geofence that is removed is forgotten, and enters again when it returns`() {
        var track = Track([Self.circle()])
        track.at(0)
        track.machine.follow([])
        #expect(track.machine.kept == GeofenceStates() && track.machine.report.isEmpty)
        track.machine.follow([Self.circle()])
        #expect(track.at(0).count == 1)
        track.machine.follow(nil)
        #expect(track.machine.kept.states.count == 1, "without a profile nobody says that it was removed")
        track.machine.follow([Self.circle()])
        #expect(track.at(0).isEmpty)
        track.machine.erased()
        #expect(track.machine.kept == GeofenceStates() && track.side() == .unknown)
        #expect(track.at(0).count == 1)
    }

    @Test func `A jump of the wall clock changes no state and no duration`() {
        var track = Track([Self.circle()])
        track.at(0)
        track.at(0, wallTime: 0)
        track.at(0, wallTime: .max)
        let left = track.at(900, wallTime: -5)
        #expect(left.map(\.inside) == [.seconds(30)])
        // The queue's file was replaced, and its clock began anew.
        var machine = GeofenceStateMachine(track.machine.kept)
        machine.follow([Self.circle()])
        _ = machine.located(.init(latitude: 0, longitude: 0, accuracy: 5, time: 1), wallTime: 0, queueTime: .max)
        let again = machine.located(.init(latitude: 1, longitude: 0, accuracy: 5, time: 2), wallTime: 0, queueTime: 0)
        #expect(again.map(\.inside) == [.zero])
    }

    @Test func `As many geofences as a profile may have are decided from one position`() {
        let fences = (0..<256).map { Self.circle("fence \($0)", latitude: Double($0) / 10) }
        var track = Track(fences)
        track.at(0)
        #expect(track.machine.report.map(\.side) == [.inside] + Array(repeating: .outside, count: 255))
    }
}
