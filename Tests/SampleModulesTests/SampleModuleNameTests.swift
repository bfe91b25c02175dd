import Testing

@testable import SampleModules

@Suite("Module names and masks")
struct SampleModuleNameTests {
    @Test(arguments: [
        ("system", 0), ("analytics", 1), ("gps", 2), ("networkData", 3), ("callLog", 4), ("networkAdapter", 5),
        ("wlan2", 6), ("custom", 8),
    ])
    func `names and bits never change`(name: String, bit: UInt8) {
        #expect(SampleModuleName(rawValue: name)?.bit == bit)
    }

    @Test func `no two modules have one bit`() {
        #expect(Set(SampleModuleName.allCases.map(\.bit)).count == SampleModuleName.allCases.count)
    }

    @Test(arguments: [
        ("callLog", SampleModuleError.Code.notOfferedByPlatform), ("1", .unknownModule), ("System", .unknownModule),
        ("", .unknownModule), ("cpu", .unknownModule),
    ])
    func `what cannot be sampled is refused by name, and never passes`(name: String, code: SampleModuleError.Code) {
        let error = #expect(throws: SampleModuleError.self) { try SampleModuleName(configurationName: name) }
        #expect(error?.code == code)
        #expect(error?.message.contains("\"\(name)\"") == true)
        #expect(throws: SampleModuleError.self) { try ModuleSet(configurationNames: ["system", name]) }
    }

    @Test
    func `a mask is read back as its modules, and a bit without one is refused`() throws {
        #expect(try ModuleSet(configurationNames: ["system"]).modules() == [.system])
        #expect(
            try ModuleSet(configurationNames: ["wlan2", "networkAdapter", "networkData"]).modules()
                == [.networkData, .networkAdapter, .wlan2])
        #expect(try ModuleSet(rawValue: 0).modules() == [])
        let refused: [(ModuleSet, SampleModuleError.Code)] = [
            ([.system, .callLog], .notOfferedByPlatform),
            (ModuleSet(rawValue: 0x81), .unknownModule),
        ]
        for (set, code) in refused {
            #expect(#expect(throws: SampleModuleError.self) { try set.modules() }?.code == code)
        }
    }
}
