import Testing

/// Where the test program begins. SwiftPM would write this file itself, but only after it has searched the compiler's
/// index store for cases of XCTest. There are none, and `Tools/build` writes no index store.
@main
enum XCTMain {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
