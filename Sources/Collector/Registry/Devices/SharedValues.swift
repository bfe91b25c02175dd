/// Values that many devices have in common, each with a small number by which it is compared and counted. A fleet has
/// few applications, versions and systems, so its devices need little memory for them.
///
/// A value that nobody has any more gives its number back. So values that devices make up cannot pile up.
struct SharedValues<Value: Hashable> {
    /// The number of a value. There are at most as many as devices, several times over, so 32 bits suffice.
    package typealias Number = Int32

    private struct Slot {
        /// `nil` while the number is free.
        var value: Value?
        var uses = 0
    }

    private var slots: [Slot] = []
    private var numbers: [Value: Number] = [:]
    private var free: [Number] = []

    /// All numbers are below this one.
    var end: Int { slots.count }

    /// The value of a number; `nil` if no value has it.
    func value(_ number: Int) -> Value? { slots[number].value }

    /// The number of a value that somebody has.
    func number(of value: Value) -> Number? { numbers[value] }

    /// One more has the value.
    mutating func intern(_ value: Value) -> Number {
        if let number = numbers[value] {
            slots[Int(number)].uses += 1
            return number
        }
        let number: Number
        if let last = free.popLast() {
            number = last
            slots[Int(number)] = Slot(value: value, uses: 1)
        } else {
            number = Number(slots.count)
            slots.append(Slot(value: value, uses: 1))
        }
        numbers[value] = number
        return number
    }

    /// One less has it: the opposite of `take`.
    mutating func giveBack(_ number: Number) {
        let place = Int(number)
        slots[place].uses -= 1
        guard slots[place].uses == 0, let value = slots[place].value else { return }
        numbers[value] = nil
        slots[place] = Slot()
        free.append(number)
    }
}
