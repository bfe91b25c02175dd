/// Finds, for each column of a tree, the coding that takes the fewest bits. It estimates and codes nothing, and
/// counts in integers alone, so the same records always give the same block.
struct ColumnPlanner {
    /// A column's values as they are coded.
    struct Column {
        var node: Int
        var parent: Int
        var kind: FieldKind
        var presence: BlockDirectory.Presence
        var coding: ColumnCoding
        /// The values in order; with `unlessZero`, zeros are among them.
        var values: [UInt64]
        /// The record of each.
        var rows: [Int]
        /// Estimated bits, in 1 / 256.
        var cost: Int
    }

    private let rowCount: Int
    private(set) var columns: [Column] = []
    /// Of numbers that vary: the columns by what their values, and the steps between them, look like. Also sums and
    /// differences of two.
    private var byValues: [Look: [ColumnCoding.Other]] = [:]
    private var bySteps: [Look: [ColumnCoding.Other]] = [:]
    /// Values of each column by record, zero where there is none. Only of those that another one may name.
    private var byRow: [[UInt64]?] = []
    private var varying: [Int] = []
    private var isNamed: Set<Int> = []
    /// Of the message at hand, the columns that vary.
    private var siblings: (parent: Int, nodes: [Int]) = (0, [])

    /// A column with values in fewer records than one of eight is not spread over all of them, which bounds the
    /// memory.
    private static let sparse = 8
    /// How many columns before it a column is compared with, besides those that look alike.
    private static let neighbours = 3
    /// A column that costs less than that many bits in all is good enough.
    private static let smallCost = 64 << 8
    /// Places in which columns are compared, and records in each.
    private static let lookCount = 4
    private static let lookRows = 8
    private static let stretchCount = 8
    private static let stretch = 40
    private static let warmUp = 8
    /// Of how many fields before it a field's sums are looked at.
    private static let pairs = 6
    /// What naming another column costs, in 1 / 256 bits.
    private static let nameCost = 16 << 8

    init(rowCount: Int) {
        self.rowCount = rowCount
    }

    // MARK: - One column

    /// Plans the column of a node.
    /// - Parameter parentRowList: `parentRows` as a list, shared by all its columns.
    mutating func add(
        _ node: FieldTree.Node, index: Int, parent: Int, parentRows: RowSet, parentRowList: [Int]
    ) {
        while byRow.count <= index { byRow.append(nil) }
        var coding = ColumnCoding()
        var values = node.values
        if node.kind == .bytes { coding.textCount = node.texts.count }
        if node.kind == .fixed64, let decimals = Decimals.decimals(of: values) {
            coding.decimals = decimals
            for place in values.indices { values[place] = Decimals.integer(values[place], decimals) ?? 0 }
        }
        let isAlways = node.rows.count == parentRows.count
        var best = plan(
            values, isAlways ? parentRowList : node.rows.rows, coding, index, parent, node.kind,
            isAlways ? .always : .marked)
        if !isAlways {
            best.cost += presenceCost(node.rows, in: parentRows)
            if node.kind.isNumber, values.count * Self.sparse >= parentRows.count, !values.contains(0) {
                let other = plan(
                    dense(values, node.rows, in: parentRows), parentRowList, coding, index, parent, node.kind,
                    .unlessZero)
                if other.cost < best.cost { best = other }
            }
        }
        columns.append(best)
        guard node.kind.isNumber, !best.coding.isConstant, best.values.count * Self.sparse >= rowCount else { return }
        let rows = Self.byRow(best.values, best.rows, rowCount)
        byRow[index] = rows
        varying.append(index)
        if siblings.parent != parent { siblings = (parent, []) }
        let one = ColumnCoding.Other(node: index)
        for look in looks({ rows[$0] }) { byValues[look] = [one] }
        for look in looks({ rows[$0] &- rows[$0 - 1] }) { bySteps[look] = [one] }
        // What two numbers of a message add up to, or differ by, is often a third.
        for sibling in siblings.nodes.suffix(Self.pairs) {
            guard let before = byRow[sibling] else { continue }
            for isNegative in [false, true] {
                let others = [
                    ColumnCoding.Other(node: sibling), ColumnCoding.Other(node: index, isNegative: isNegative),
                ]
                let found = looks { row in
                    let (one, other) = (before[row] &- before[row - 1], rows[row] &- rows[row - 1])
                    return isNegative ? one &- other : one &+ other
                }
                for look in found where bySteps[look] == nil { bySteps[look] = others }
            }
        }
        siblings.nodes.append(index)
    }

    /// How a stretch of a column looks. Two columns that look alike there may be alike.
    private struct Look: Hashable {
        var place: Int
        var digest: UInt64
    }

    /// How a column looks in a few places. A stretch of zeros has no look.
    /// - Parameter value: of a record's place, from 1.
    @inline(__always)
    private func looks(_ value: (Int) -> UInt64) -> [Look] {
        guard rowCount > Self.lookRows else { return [] }
        var looks: [Look] = []
        for number in 0..<Self.lookCount {
            let place = (rowCount - Self.lookRows - 1) * number / (Self.lookCount - 1)
            var digest: UInt64 = 0
            var all: UInt64 = 0
            for row in (place + 1)...(place + Self.lookRows) {
                let value = value(row)
                all |= value
                digest = (digest ^ value) &* 0x9E37_79B9_7F4A_7C15
                digest ^= digest >> 29
            }
            if all != 0 { looks.append(Look(place: place, digest: digest)) }
        }
        return looks
    }

    private func dense(_ values: [UInt64], _ rows: RowSet, in parentRows: RowSet) -> [UInt64] {
        var dense: [UInt64] = []
        dense.reserveCapacity(parentRows.count)
        var next = 0
        parentRows.forEach { row in
            if rows.contains(row) {
                dense.append(values[next])
                next += 1
            } else {
                dense.append(0)
            }
        }
        return dense
    }

    private func plan(
        _ values: [UInt64], _ rows: [Int], _ coding: ColumnCoding, _ index: Int, _ parent: Int, _ kind: FieldKind,
        _ presence: BlockDirectory.Presence
    ) -> Column {
        var column = Column(
            node: index, parent: parent, kind: kind, presence: presence, coding: coding, values: values, rows: rows,
            cost: 0)
        let first = values.first ?? 0
        column.coding.base = first
        guard values.contains(where: { $0 != first }) else {
            column.coding.isConstant = presence == .always
            return column
        }
        column.coding.isConstant = false
        column.cost = .max
        var candidates: [(Predictor, UInt64)] = [
            (.constant, Self.median(values)), (.previous, first), (.linear, first),
        ]
        if kind != .bytes { candidates.append((.level, first)) }
        if kind != .varint, kind.isNumber, coding.decimals == nil { candidates.append((.exclusiveOr, first)) }
        for (predictor, base) in candidates { consider(predictor, base, [], &column) }
        if kind.isNumber, column.cost > Self.smallCost { considerOthers(&column) }
        return column
    }

    private func considerOthers(_ column: inout Column) {
        let rows = Self.byRow(column.values, column.rows, rowCount)
        let first = column.values.first ?? 0
        func named(_ looks: [Look], in known: [Look: [ColumnCoding.Other]]) -> [[ColumnCoding.Other]] {
            var found: [[ColumnCoding.Other]] = []
            for look in looks { if let others = known[look], !found.contains(others) { found.append(others) } }
            return found
        }
        let steps = looks { rows[$0] &- rows[$0 - 1] }
        for others in named(steps, in: bySteps) { consider(.alongside, first, others, &column) }
        for others in named(looks { rows[$0 - 1] &- rows[$0] }, in: bySteps) {
            let opposite = others.map { ColumnCoding.Other(node: $0.node, isNegative: !$0.isNegative) }
            consider(.alongside, first, opposite, &column)
        }
        for others in named(looks { rows[$0] }, in: bySteps) { consider(.increase, first, others, &column) }
        for others in named(steps, in: byValues) { consider(.accumulated, first, others, &column) }
        for other in varying.suffix(Self.neighbours) where column.cost > Self.smallCost {
            for predictor in [Predictor.alongside, .increase, .accumulated] {
                consider(predictor, first, [ColumnCoding.Other(node: other)], &column)
            }
        }
    }

    private func consider(
        _ predictor: Predictor, _ base: UInt64, _ others: [ColumnCoding.Other], _ column: inout Column
    ) {
        let sums = predictor == .rest ? byRow[column.node] : self.sums(others)
        var tally = ResidualTally()
        for stretch in Self.stretches(column.values.count) {
            var prediction = Prediction(predictor, base: base)
            // The values before a stretch bring the prediction to its beginning.
            for place in max(0, stretch.lowerBound - Self.warmUp)..<stretch.lowerBound {
                prediction.note(column.values[place], sums?[column.rows[place]] ?? 0)
            }
            for place in stretch {
                tally.add(prediction.wholeResidual(column.values[place], sums?[column.rows[place]] ?? 0))
            }
        }
        let cost = tally.cost + others.count * Self.nameCost
        guard cost < column.cost else { return }
        column.cost = cost
        column.coding.predictor = predictor
        column.coding.base = base
        column.coding.others = others
    }

    /// What of a column is looked at: all of a short one, and stretches of a long one, evenly spread.
    private static func stretches(_ count: Int) -> [Range<Int>] {
        guard count > 2 * stretchCount * stretch else { return [0..<count] }
        return (0..<stretchCount).map { number in
            let start = (count - stretch) * number / (stretchCount - 1)
            return start..<(start + stretch)
        }
    }

    private func sums(_ others: [ColumnCoding.Other]) -> [UInt64]? {
        guard let first = others.first, var sums = byRow[first.node] else { return nil }
        if first.isNegative { for row in sums.indices { sums[row] = 0 &- sums[row] } }
        for other in others.dropFirst() {
            guard let values = byRow[other.node] else { continue }
            for row in sums.indices {
                sums[row] = other.isNegative ? sums[row] &- values[row] : sums[row] &+ values[row]
            }
        }
        return sums
    }

    // MARK: - All columns

    /// Looks for messages whose numbers add up to nearly the same in all records, such as shares of a whole, and
    /// predicts the dearest of them from the others. Then fixes units and lengths.
    mutating func finish() {
        for column in columns { isNamed.formUnion(column.coding.others.map(\.node)) }
        var messages: [Int: [Int]] = [:]
        for (place, column) in columns.enumerated() where column.kind == .varint {
            messages[column.parent, default: []].append(place)
        }
        for places in messages.values {
            let varying = places.filter { !columns[$0].coding.isConstant }
            guard varying.count > 2,
                let dearest = varying.filter({ !isNamed.contains(columns[$0].node) })
                    .max(by: { (columns[$0].cost, $1) < (columns[$1].cost, $0) })
            else { continue }
            considerRest(dearest, of: places)
        }
        for place in columns.indices { columns[place].coding = fixed(columns[place]) }
    }

    private mutating func considerRest(_ place: Int, of siblings: [Int]) {
        var sums = [UInt64](repeating: 0, count: rowCount)
        for sibling in siblings where sibling != place {
            let column = columns[sibling]
            for (index, row) in column.rows.enumerated() { sums[row] &+= column.values[index] }
        }
        var column = columns[place]
        let totals = column.rows.indices.map { column.values[$0] &+ sums[column.rows[$0]] }
        byRow[column.node] = sums
        consider(.rest, Self.median(totals), [], &column)
        columns[place] = column
    }

    /// The coding with unit and lengths.
    private func fixed(_ column: Column) -> ColumnCoding {
        var coding = column.coding
        guard !coding.isConstant else { return coding }
        var prediction = Prediction(column.coding.predictor, base: column.coding.base)
        let others = others(of: column)
        var unit: UInt64 = 0
        var zeros = 63
        var greatest: UInt64 = 0
        var least = UInt64.max
        for (place, value) in column.values.enumerated() {
            let magnitude = prediction.wholeResidual(value, others?[column.rows[place]] ?? 0).magnitude
            greatest = max(greatest, magnitude)
            least = min(least, magnitude)
            if magnitude != 0 { zeros = min(zeros, magnitude.trailingZeroBitCount) }
            if unit != 1 { unit = Self.greatestCommonDivisor(unit, magnitude) }
        }
        if coding.predictor == .exclusiveOr {
            coding.unit = UInt64(greatest == 0 ? 0 : zeros)
            coding.lengths = (least >> coding.unit).bitCount...(greatest >> coding.unit).bitCount
        } else {
            coding.unit = max(unit, 1)
            coding.lengths = (least / coding.unit).bitCount...(greatest / coding.unit).bitCount
        }
        return coding
    }

    /// What the column is predicted with, for `ColumnEncoder`.
    func others(of column: Column) -> [UInt64]? {
        column.coding.predictor == .rest ? byRow[column.node] : sums(column.coding.others)
    }

    // MARK: - Numbers

    private static func byRow(_ values: [UInt64], _ rows: [Int], _ rowCount: Int) -> [UInt64] {
        if values.count == rowCount { return values }
        var all = [UInt64](repeating: 0, count: rowCount)
        for (place, row) in rows.enumerated() { all[row] = values[place] }
        return all
    }

    /// By the order of signed numbers.
    private static func median(_ values: [UInt64]) -> UInt64 {
        let sorted = values.sorted { Int64(bitPattern: $0) < Int64(bitPattern: $1) }
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    private static func greatestCommonDivisor(_ one: UInt64, _ other: UInt64) -> UInt64 {
        var (greater, smaller) = (one, other)
        while smaller != 0 { (greater, smaller) = (smaller, greater % smaller) }
        return greater
    }

    private func presenceCost(_ rows: RowSet, in parentRows: RowSet) -> Int {
        Logarithm.entropy([rows.count, parentRows.count - rows.count]) + 8 << 8
    }
}

/// Estimates what residuals cost.
private struct ResidualTally {
    private var lengths = [Int](repeating: 0, count: 65)
    private var negatives = 0
    private var plainBits = 0
    private var count = 0

    /// What a further length costs to learn.
    private static let lengthCost = 5 << 8

    @inline(__always)
    mutating func add(_ residual: Residual) {
        let length = residual.magnitude.bitCount
        lengths[length] += 1
        if residual.isNegative { negatives += 1 }
        if length > 1 { plainBits += length - 1 }
        count += 1
    }

    var cost: Int {
        let used = lengths.count { $0 > 0 }
        return Logarithm.entropy(lengths) + Logarithm.entropy([negatives, count - lengths[0] - negatives])
            + plainBits << 8 + used * ResidualTally.lengthCost
    }
}

/// Logarithms in integers: the same on every machine.
private enum Logarithm {
    /// What symbols cost that are there so many times, in 1 / 256 bits.
    static func entropy(_ counts: [Int]) -> Int {
        let total = counts.reduce(0, +)
        return counts.reduce(weight(total)) { $0 - weight($1) }
    }

    /// n · log2 n, in 1 / 256.
    private static func weight(_ count: Int) -> Int {
        guard count > 1 else { return 0 }
        let whole = count.bitCount - 1
        // Between two powers the line is at most 0.09 too low.
        let fraction = ((count << 8) >> whole) - 256
        return count * (whole << 8 + fraction)
    }
}
