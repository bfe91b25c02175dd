import Foundation

/// `Tools/packaging/CBOM.json` (CycloneDX 1.6), and what of it is compared with the sources.
struct CryptographicBill: Decodable {
    struct Component: Decodable {
        struct Property: Decodable {
            var name: String
            var value: String
        }

        struct Evidence: Decodable {
            struct Occurrence: Decodable { var location: String }
            var occurrences: [Occurrence]
        }

        enum CodingKeys: String, CodingKey {
            case reference = "bom-ref"
            case name, version, properties, evidence
        }

        var reference: String
        var name: String
        var version: String?
        var properties: [Property]?
        var evidence: Evidence?

        var places: Set<String> { Set(evidence?.occurrences.map(\.location) ?? []) }

        func values(_ name: String) -> [String] { (properties ?? []).filter { $0.name == name }.map(\.value) }
    }

    var components: [Component]

    /// Modules of cryptography by their names, and the names of all algorithms that swift-crypto has.
    private static let module = "(?i)crypt|ssl|tls|x509|asn1|certificate|libpq|sodium|mosquitto"
    private static let algorithm =
        #"\b(?:Insecure\.\w+|SHA\d+|SHA3_\d+|HMAC<\w+|HKDF<\w+|AES\.\w+|ChaChaPoly|Curve25519\.\w+"#
        + #"|P(?:256|384|521)\.\w+|HPKE\.\w+|KDF\.\w+|_?RSA\.\w+|MLKEM\d+|MLDSA\d+|XWing\w*|SecureEnclave"#
        + #"|TLSConfiguration)\b"#
    private static let importLine =
        #"(?m)^(?:@\w+ )?(?:public |package |internal |private |fileprivate )?import (?:\w+ )?(\w+)"#

    /// - Parameter sources: Swift files by their paths below the repository.
    /// - Returns: what the bill does not say of them, and what it says that is not so; a line each.
    func contradictions(_ sources: [String: String]) throws -> [String] {
        let own = Set(sources.keys.map { String($0.split(separator: "/")[2]) })
        let modules = Set(components.flatMap { $0.values("ws1:import") })
        let importLine = try NSRegularExpression(pattern: Self.importLine)
        let module = try NSRegularExpression(pattern: Self.module)
        let algorithm = try NSRegularExpression(pattern: Self.algorithm)
        let comment = try NSRegularExpression(pattern: "//.*")
        let symbols = try components.map { component in
            try component.values("ws1:symbol").map { try NSRegularExpression(pattern: $0) }
        }
        var found = components.map { _ in Set<String>() }
        var contradictions: [String] = []
        for (path, text) in sources {
            let code = comment.replacing(in: text)
            let imports = Set(importLine.matches(code, group: 1))
            for name in imports.subtracting(modules).subtracting(own) where !module.matches(name).isEmpty {
                contradictions.append("\(path) imports \(name), which no component names")
            }
            var rest = code
            for (place, component) in components.enumerated() {
                let named = !imports.isDisjoint(with: component.values("ws1:import"))
                let used = symbols[place].contains { !$0.matches(code).isEmpty }
                if named || used { found[place].insert(path) }
                for symbol in symbols[place] where used { rest = symbol.replacing(in: rest) }
            }
            contradictions += algorithm.matches(rest).map { "\(path) uses \($0), which no component covers" }
        }
        for (place, component) in components.enumerated() {
            let isCompared = !(component.values("ws1:import") + component.values("ws1:symbol")).isEmpty
            let missing = isCompared ? found[place].subtracting(component.places) : []
            let stale = component.places.subtracting(isCompared ? found[place] : Set(sources.keys))
            contradictions += missing.map { "\(component.reference) is used in \($0), which is not listed" }
            contradictions += stale.map { "\(component.reference) is listed in \($0), which does not use it" }
            if component.places.isEmpty { contradictions.append("\(component.reference) has no place") }
        }
        return contradictions.sorted()
    }
}

extension NSRegularExpression {
    fileprivate func matches(_ text: String, group: Int = 0) -> [String] {
        let whole = NSRange(text.startIndex..., in: text)
        return matches(in: text, range: whole).compactMap { Range($0.range(at: group), in: text) }
            .map { String(text[$0]) }
    }

    fileprivate func replacing(in text: String) -> String {
        stringByReplacingMatches(in: text, range: NSRange(text.startIndex..., in: text), withTemplate: "")
    }
}
