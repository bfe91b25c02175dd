import SampleModules
import TelemetryBasics

/// Finds kernel modules that are unsigned or were forced, or that the profile does not expect. The kernel marks the
/// former, and itself until the next boot.
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
    private static let maximumModulesBytes = 1 << 20
    private static let namedModules = 8

    let name = BuiltInDetector.kernelModuleUnsigned.rawValue
    let host: any HostSource
    /// The only modules that may be loaded; empty for any.
    var allowed: Set<String> = []
    /// Modules that may be unsigned or forced. While one of them is loaded, the kernel's own mark is put down to it.
    var unsigned: Set<String> = []

    func examine() -> CompromiseFinding? {
        let modules = host.text(Self.modulesPath, maximumBytes: Self.maximumModulesBytes)
        // A kernel that loads no modules has no such file.
        guard modules != .absent else { return nil }
        let tainted = Self.taint(host.text(Self.taintedPath, maximumBytes: 64))
        var listed: ModuleList?
        if case .text(let text) = modules { listed = ModuleList(text) }
        let loaded: [ModuleList.Module] = listed?.modules ?? []
        let marked = loaded.filter { $0.taint != 0 }
        let unknown = marked.filter { !unsigned.contains($0.name) }
        if !unknown.isEmpty {
            return CompromiseFinding(
                .yes, evidence: "unsigned or forced kernel modules: \(Self.names(unknown.map(\.text)))")
        }
        let unexpected = loaded.filter { !allowed.contains($0.name) && !unsigned.contains($0.name) }
        if !allowed.isEmpty, !unexpected.isEmpty {
            return CompromiseFinding(
                .yes, evidence: "kernel modules that are not expected: \(Self.names(unexpected.map(\.text)))")
        }
        let explained: UInt64 = marked.reduce(0) { $0 | $1.taint }
        if let taint = tainted, taint & ModuleList.marks & ~explained != 0 {
            let what = taint & ~explained & ModuleList.unsignedTaint != 0 ? "an unsigned" : "a forced"
            return CompromiseFinding(
                .yes, evidence: "\(what) kernel module was loaded since boot and is not listed (tainted \(taint))")
        }
        guard let listed, listed.isWhole, let taint = tainted else {
            return CompromiseFinding(.unknown, evidence: "the kernel's list of modules or its taint could not be read")
        }
        if listed.modules.isEmpty {
            return CompromiseFinding(.no, evidence: "no kernel module is loaded (tainted \(taint))")
        }
        let count = CountText.of(listed.modules.count, "kernel module")
        let signed = marked.isEmpty ? "all signed" : "all signed but \(Self.names(marked.map(\.name)))"
        switch host.text(Self.enforcePath, maximumBytes: 16) {
        case .text(let text) where text.hasPrefix("Y"):
            return CompromiseFinding(
                .no, evidence: "\(count), \(signed), as the kernel enforces (tainted \(taint))")
        case .text(let text) where text.hasPrefix("N"):
            return CompromiseFinding(.no, evidence: "\(count), \(signed) (tainted \(taint))")
        case .absent:
            return CompromiseFinding(
                .unknown, evidence: "\(count), and this kernel checks no signatures")
        case .text, .unreadable:
            return CompromiseFinding(
                .unknown, evidence: "\(count); whether signatures are checked could not be read")
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
    struct Module {
        var name: String
        /// The letters by which the kernel marks itself for the module: unsigned, forced, or 0.
        var taint: UInt64
        /// The name with its letters.
        var text: String
    }

    static let forcedTaint: UInt64 = 1 << 1
    static let unsignedTaint: UInt64 = 1 << 13
    static let marks = forcedTaint | unsignedTaint

    private(set) var modules: [Module] = []
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
            var module = Module(name: String(words[0]), taint: 0, text: String(words[0]))
            if words.count == 7 {
                if words[6].hasPrefix("("), words[6].hasSuffix(")") {
                    if words[6].contains("E") { module.taint |= Self.unsignedTaint }
                    if words[6].contains("F") { module.taint |= Self.forcedTaint }
                } else {
                    isWhole = false
                }
                module.text += " \(words[6])"
            }
            modules.append(module)
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
