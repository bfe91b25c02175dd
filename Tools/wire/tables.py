"""All tables that follow from the schema."""

import otlp
import views
from metrics import Metrics
from privacy import Privacy

FOLDERS = {
    "privacy": "Sources/Device/Privacy/Generated", "sampler": "Sources/Device/DataSampler/Generated",
    "modules": "Sources/Device/SampleModules/Generated", "kinds": "Sources/Shared/WireModel/Generated",
    "catalog": "Sources/Collector/MetricCatalog/Generated", "views": "Sources/Collector/RecordViews/Generated",
    "names": "Sources/Collector/Collector/Generated", "charts": "Sources/Collector/Console/Generated",
    "otlp": "Sources/Shared/OTLP/Generated",
}


def tables(schema):
    """The text of each file, by its path in the repository."""
    metrics = Metrics(schema)
    found = {
        f"{FOLDERS['privacy']}/FieldClasses.swift": Privacy(schema).swift(),
        f"{FOLDERS['sampler']}/DataSamplerModules+Names.swift": views.module_constants(schema),
        f"{FOLDERS['modules']}/SampleModuleName.swift": views.module_names(schema),
        f"{FOLDERS['kinds']}/WireRecordKind+Bodies.swift": views.record_kinds(schema),
        f"{FOLDERS['views']}/MessageView+Fields.swift": views.shown_fields(schema),
        f"{FOLDERS['views']}/WireEventType+Names.swift": views.event_names(schema),
        f"{FOLDERS['names']}/EnumName+Wire.swift": views.enum_names(schema),
    }
    for name, text in metrics.files().items():
        found[f"{FOLDERS['catalog']}/{name}"] = text
    found[f"{FOLDERS['charts']}/MetricCharts+Usual.swift"] = metrics.charts()
    found[f"{FOLDERS['otlp']}/OTLPShape+Messages.swift"] = otlp.shapes()
    return found
