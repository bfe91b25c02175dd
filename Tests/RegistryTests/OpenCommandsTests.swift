import Foundation
import Testing
import WireModel

@testable import Registry

@Suite struct OpenCommandsTests {
    private static func command(expires: Int64) -> WireCommand {
        var command = WireCommand()
        command.id = Data([1])
        command.expires = expires
        return command
    }

    @Test func `Expired commands of devices that stay away use no room`() {
        let commands = OpenCommands()
        for number in 0..<OpenCommands.limit {
            let isAdded = commands.add(
                Self.command(expires: number < 10 ? 2_000 : 1_000_000_000), of: DeviceID(high: 1, low: UInt64(number)),
                organization: "o")
            #expect(isAdded)
        }
        #expect(commands.room(below: OpenCommands.limit, organization: "o", at: 1_000) == 0)
        #expect(!commands.add(Self.command(expires: 9_000), of: DeviceID(high: 2, low: 1), organization: "o"))
        // It was searched a moment ago.
        #expect(commands.room(below: OpenCommands.limit, organization: "o", at: 3_000) == 0)
        #expect(commands.room(below: OpenCommands.limit, organization: "o", at: 20_000_000) == 10)
        #expect(commands.add(Self.command(expires: 30_000_000), of: DeviceID(high: 2, low: 1), organization: "o"))
        #expect(
            commands.room(below: OpenCommands.limitOfJobs, organization: "o", at: 60_000_000) == 0,
            "jobs leave room for single ones")
    }

    @Test func `A message takes a place for each KiB that it begins`() {
        func message(_ id: UInt8, text: Int, payload: Int = 0) -> WireCommand {
            var command = Self.command(expires: 9_000)
            command.id = Data([id])
            command.message.text = String(repeating: "a", count: text)
            command.message.payload = Data(repeating: 0, count: payload)
            return command
        }
        let (commands, device) = (OpenCommands(), DeviceID(high: 1, low: 1))
        var taken = 0
        func places(_ command: WireCommand) -> Int {
            #expect(commands.add(command, of: device, organization: "o"))
            let now = OpenCommands.limit - commands.room(below: OpenCommands.limit, organization: "o", at: 1_000)
            defer { taken = now }
            return now - taken
        }
        #expect(places(message(2, text: 1)) == 1 && places(message(3, text: 1024)) == 1)
        #expect(places(message(4, text: 1024, payload: 1)) == 2 && places(message(5, text: 4096, payload: 4096)) == 8)
        commands.end([Data([5])], of: device)
        #expect(commands.room(below: OpenCommands.limit, organization: "o", at: 1_000) == OpenCommands.limit - 4)
    }

    @Test func `An organization without room uses none of another's, and its wipes have their own`() {
        let commands = OpenCommands()
        for number in 0..<OpenCommands.limit {
            _ = commands.add(
                Self.command(expires: 9_000), of: DeviceID(high: 1, low: UInt64(number)), organization: "noisy")
        }
        let device = DeviceID(high: 1, low: 1)
        #expect(commands.room(below: OpenCommands.limit, organization: "noisy", at: 1_000) == 0)
        #expect(commands.room(below: OpenCommands.limit, organization: "quiet", at: 1_000) == OpenCommands.limit)
        #expect(commands.add(Self.command(expires: 9_000), of: DeviceID(high: 2, low: 1), organization: "quiet"))
        var wipe = Self.command(expires: 9_000)
        (wipe.id, wipe.action) = (Data([2]), .wipe(WireWipe()))
        #expect(commands.add(wipe, of: device, organization: "noisy"))
        #expect(commands.commands(of: device, enrollmentID: Data(), at: 1_000) == [wipe], "it ends the other one")
        #expect(commands.room(below: OpenCommands.limit, organization: "noisy", at: 1_000) == 1)
    }
}
