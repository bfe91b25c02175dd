/// Finds all occurrences of many texts in one pass (Aho and Corasick, "Efficient String Matching", 1975).
struct ScrubValues: Sendable {
    private struct Node {
        var byte: UInt8
        /// Index of the first child, one byte longer. `sibling` is the next child of the same parent. 0: none.
        var child: Int32 = 0
        var sibling: Int32 = 0
        /// The node to continue at if no child fits: the longest suffix of what was read that begins another text.
        var fallback: Int32 = 0
        /// Length in bytes of the longest text that ends here; 0: none.
        var length: Int32 = 0
        var parent: Int32 = 0
    }

    private var nodes = [Node(byte: 0)]
    /// The root's children by byte.
    private var first = [Int32](repeating: 0, count: 256)

    var isEmpty: Bool { nodes.count == 1 }

    init(_ values: [String]) {
        for value in values {
            var node: Int32 = 0
            for byte in value.utf8 { node = child(node, byte) ?? add(byte, to: node) }
            nodes[Int(node)].length = Int32(value.utf8.count)
        }
        link()
    }

    /// - Parameter found: receives ranges whose union is all occurrences of all texts. Their ends ascend.
    func search(_ text: UnsafeBufferPointer<UInt8>, found: (Range<Int>) -> Void) {
        var node: Int32 = 0
        for (position, byte) in text.enumerated() {
            while node != 0, child(node, byte) == nil { node = nodes[Int(node)].fallback }
            node = child(node, byte) ?? 0
            let length = Int(nodes[Int(node)].length)
            if length > 0 { found((position + 1 - length)..<(position + 1)) }
        }
    }

    @inline(__always)
    private func child(_ node: Int32, _ byte: UInt8) -> Int32? {
        if node == 0 {
            let found = first[Int(byte)]
            return found == 0 ? nil : found
        }
        var candidate = nodes[Int(node)].child
        while candidate != 0 {
            if nodes[Int(candidate)].byte == byte { return candidate }
            candidate = nodes[Int(candidate)].sibling
        }
        return nil
    }

    private mutating func add(_ byte: UInt8, to parent: Int32) -> Int32 {
        let new = Int32(nodes.count)
        nodes.append(Node(byte: byte, sibling: nodes[Int(parent)].child, parent: parent))
        nodes[Int(parent)].child = new
        if parent == 0 { first[Int(byte)] = new }
        return new
    }

    private mutating func link() {
        // Nodes by length, shortest first, because a fallback is always shorter than its node.
        var level = children(of: 0)
        while !level.isEmpty {
            for node in level {
                let (byte, parent) = (nodes[Int(node)].byte, nodes[Int(node)].parent)
                var fallback: Int32 = 0
                if parent != 0 {
                    var candidate = nodes[Int(parent)].fallback
                    while candidate != 0, child(candidate, byte) == nil { candidate = nodes[Int(candidate)].fallback }
                    fallback = child(candidate, byte) ?? 0
                }
                nodes[Int(node)].fallback = fallback
                if nodes[Int(node)].length == 0 { nodes[Int(node)].length = nodes[Int(fallback)].length }
            }
            level = level.flatMap { children(of: $0) }
        }
    }

    private func children(of node: Int32) -> [Int32] {
        var result: [Int32] = []
        var child = nodes[Int(node)].child
        while child != 0 {
            result.append(child)
            child = nodes[Int(child)].sibling
        }
        return result
    }
}
