import Foundation

/// A library in C beside this file that is preloaded into the programs under test.
enum PreloadedLibrary {
    /// Builds the library beside the programs.
    /// - Parameter name: the source's name without `.c`.
    /// - Returns: its path.
    static func build(_ name: String) throws -> String {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("\(name).c")
            .path
        let library = URL(fileURLWithPath: Program.agent.path).deletingLastPathComponent().appendingPathComponent(
            "\(name).so"
        ).path
        // The toolchain links with it, so where Swift builds it is there.
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source]
        try compiler.run()
        compiler.waitUntilExit()
        guard compiler.terminationStatus == 0 else { throw EndToEndError("clang cannot build \(source)") }
        return library
    }
}
