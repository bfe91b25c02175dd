import WireModel

/// A metric there may be.
struct CatalogView: Encodable {
    var metric: String
    /// UCUM.
    var unit: String
    var kind: String
    var module: String
    var description: String

    static let all = CatalogedMetric.all.map { metric in
        CatalogView(
            metric: metric.definition.name, unit: metric.definition.unit, kind: metric.definition.kind.name,
            module: SampleModuleNames.name(of: metric.kind) ?? "", description: metric.definition.description)
    }
}
