import SampleModules

/// Finds kernel modules that are unsigned or were forced. The kernel marks them, and itself until the next boot.
///
/// Sources:
/// - `/proc/modules`: taint letters at the end of a line. E means unsigned, F forced. O (out of tree) and P
///   (proprietary) say nothing about the origin and are common with drivers.
/// - `/proc/sys/kernel/tainted`: the same for every module loaded since boot, including hidden and removed ones.
/// - `/sys/module/module/parameters/sig_enforce`: if absent, this kernel checks no signatures, and its marks say
///   nothing.
struct KernelModuleDetector: CompromiseDetector {
    static let modulesPath = "/proc/modules"
    static let taintedPath = "/proc/sys/kernel/tainted"
    static let enforcePath = "/sys/module/module/parameters/sig_enforce"
    private static let forcedTaint: UInt64 = 1 << 1
    private static let unsignedTaint: UInt64 = 1 << 13
    private static let maximumModulesBytes = 1 << 20
    private static let namedModules = 8

    let name = BuiltInDetector.kernelModuleUnsigned.rawValue
    let host: any HostSource

    func examine() -> CompromiseFinding? {
        let modules = host.text(Self.modulesPath, maximumBytes: Self.maximumModulesBytes)
        // A kernel that loads no modules has no such file.
        guard modules != .absent else { return nil }
        let taint = Self.taint(host.text(Self.taintedPath, maximumBytes: 64))
        var listed: ModuleList?
        if case .text(let text) = modules { listed = ModuleList(text) }
        if let marked = listed?.marked, !marked.isEmpty {
            return CompromiseFinding(.yes, evidence: "unsigned or forced kernel modules: \(Self.names(marked))")
        }
        if let taint, taint & (Self.unsignedTaint | Self.forcedTaint) != 0 {
            let what = taint & Self.unsignedTaint != 0 ? "an unsigned" : "a forced"
            return CompromiseFinding(
                .yes, evidence: "\(what) kernel module was loaded since boot and is not listed (tainted \(taint))")
        }
        guard let listed, listed.isWhole, let taint else {
            return CompromiseFinding(.unknown, evidence: "the kernel's list of modules or its taint could not be read")
        }
        if listed.count == 0 {
            return CompromiseFinding(.no, evidence: "no kernel module is loaded (tainted \(taint))")
        }
        switch host.text(Self.enforcePath, maximumBytes: 16) {
        case .text(let text) where text.hasPrefix("Y"):
            return CompromiseFinding(
                .no, evidence: "\(listed.count) kernel modules, all signed, as the kernel enforces (tainted \(taint))")
        case .text(let text) where text.hasPrefix("N"):
            return CompromiseFinding(.no, evidence: "\(listed.count) kernel modules, all signed (tainted \(taint))")
        case .absent:
            return CompromiseFinding(
                .unknown, evidence: "\(listed.count) kernel modules, and this kernel checks no signatures")
        case .text, .unreadable:
            return CompromiseFinding(
                .unknown, evidence: "\(listed.count) kernel modules; whether signatures are checked could not be read")
        }
    }

    private static func taint(_ text: HostText) -> UInt64? {
        guard case .text(let text) = text, text.hasSuffix("\n") else { return nil }
        return UInt64(text.dropLast())
    }

    private static func names(_ modules: [String]) -> String {
        let named = modules.prefix(namedModules).joined(separator: ", ")
        return modules.count > namedModules ? "\(named) and \(modules.count - namedModules) more" : named
    }
}

/// `/proc/modules`: `name size users dependencies state address [(taint)]` on each line.
private struct ModuleList {
    private(set) var count = 0
    /// Unsigned or forced modules with their taint.
    private(set) var marked: [String] = []
    /// Whether every line was well-formed.
    private(set) var isWhole = true

    init(_ text: String) {
        if !text.isEmpty, !text.hasSuffix("\n") { isWhole = false }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard (6...7).contains(words.count), UInt64(words[1]) != nil else {
                isWhole = false
                continue
            }
            count += 1
            guard words.count == 7 else { continue }
            guard words[6].hasPrefix("("), words[6].hasSuffix(")") else {
                isWhole = false
                continue
            }
            if words[6].contains("E") || words[6].contains("F") { marked.append("\(words[0]) \(words[6])") }
        }
    }
}

extension HostSource {
    /// A small file as text. A beginning counts too.
    func text(_ path: String, maximumBytes: Int) -> HostText {
        var buffer = FileBuffer(capacity: 4_096)
        switch read(path, into: &buffer, maximumBytes: maximumBytes, keepOpen: false) {
        case .complete, .truncated: return .text(buffer.withBytes { String(decoding: $0, as: UTF8.self) })
        case .absent: return .absent
        case .denied, .failed: return .unreadable
        }
    }
}

/// The result of reading a small file.
enum HostText: Equatable {
    case text(String)
    /// The file or kernel feature does not exist.
    case absent
    /// It exists and could not be read.
    case unreadable
}
