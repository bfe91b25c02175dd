// Draws charts of tables with Chart.js. The tables stay on the page, so that a page without scripts has every value.
//
//   <div class="chart" data-chart="line" data-table="cpu"></div>   a chart of the table with the id `cpu`
//
//   data-chart      line, bar, or stacked (bars on top of each other)
//   data-unit       UCUM unit of the values, for the texts of the axis: By, By/s, s, %, 1, ...
//   data-zero       "no": the axis need not begin at zero
//   data-from, -to  names of query parameters; dragging over a range of time sets them and loads the page
//   data-marks      id of an element whose <time data-mark="text"> are drawn as vertical lines
//
// The first column has a <time datetime> or a label. Each other column is a series, named by its header. The value of
// a cell is its `data-value`, or else its text; an empty cell is a gap. <th data-color="red"> chooses the colour, and a
// column with <th data-chart="no"> stands in the table alone.
"use strict";
{
    // Each has a contrast of 3 or more against the ground of its scheme (WCAG 1.4.11).
    const palettes = {
        light: {
            blue: "#0b57b0", orange: "#b35900", green: "#1a7f37", purple: "#8e24aa",
            red: "#c1121f", teal: "#007a84", olive: "#6b5b00", grey: "#57606a",
        },
        dark: {
            blue: "#7db6ff", orange: "#f0a04b", green: "#6fd08c", purple: "#d6a3ff",
            red: "#ff8a94", teal: "#5fd4dc", olive: "#d9d26a", grey: "#a2adb8",
        },
    };
    // Lines differ by more than their colour.
    const dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
    const darkScheme = matchMedia("(prefers-color-scheme: dark)");
    const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
    const isLocal = () => localStorage.getItem("zone") === "local";

    // MARK: Texts

    /// As the server writes numbers: three significant digits below 1,000.
    function numberText(value) {
        const size = Math.abs(value);
        const digits = Number.isInteger(value) || size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
        return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    }

    function scaledText(value, factor, units) {
        let unit = 0;
        while (Math.abs(value) >= factor * 0.9995 && unit < units.length - 1) { value /= factor; unit += 1; }
        return `${Number(value.toPrecision(3))} ${units[unit]}`.trim();
    }

    function quantityText(value, unit = "") {
        const prefixes = ["", "k", "M", "G", "T", "P"];
        const perSecond = unit.endsWith("/s");
        switch (perSecond ? unit.slice(0, -2) : unit) {
        case "By": return scaledText(value, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]) + (perSecond ? "/s" : "");
        case "bit": return scaledText(value, 1000, prefixes.map((prefix) => `${prefix}bit`)) + (perSecond ? "/s" : "");
        case "Hz": return scaledText(value, 1000, prefixes.map((prefix) => `${prefix}Hz`));
        case "s": return durationText(value);
        case "%": return `${Number((value * 100).toPrecision(3))} %`;
        case "Cel": return `${numberText(value)} °C`;
        default: return Math.abs(value) >= 10000 ? scaledText(value, 1000, prefixes) : numberText(value);
        }
    }

    function durationText(seconds) {
        const size = Math.abs(seconds);
        if (size !== 0 && size < 1) return `${Number((seconds * 1000).toPrecision(3))} ms`;
        if (size < 120) return `${Number(seconds.toPrecision(3))} s`;
        if (size < 7200) return `${Math.round(seconds / 60)} min`;
        if (size < 172800) return `${Math.round(seconds / 3600)} h`;
        return `${Math.round(seconds / 86400)} days`;
    }

    /// The parts of a time in the zone that the person chose.
    function timeParts(milliseconds) {
        const date = new Date(milliseconds - zoneOffset(milliseconds));
        const [day, clock] = date.toISOString().split("T");
        return { day, clock: clock.slice(0, 8) };
    }

    /// What to subtract from UTC for the time on the wall, in milliseconds.
    function zoneOffset(milliseconds) {
        return isLocal() ? new Date(milliseconds).getTimezoneOffset() * 60000 : 0;
    }

    function timeText(milliseconds) {
        const { day, clock } = timeParts(milliseconds);
        return `${day} ${clock}${isLocal() ? " local time" : " UTC"}`;
    }

    // MARK: Tables

    function cellValue(cell) {
        const text = (cell?.dataset.value ?? cell?.textContent ?? "").trim().replaceAll(",", "");
        const value = Number(text);
        return text === "" || Number.isNaN(value) ? null : value;
    }

    /// Names, places on the axis, and values of a table; null if it has no row.
    function read(table) {
        const heads = [...(table.tHead?.rows[0]?.cells ?? [])].slice(1)
            .map((head, index) => ({ head, column: index + 1 })).filter(({ head }) => head.dataset.chart !== "no");
        const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
        if (!heads.length || !rows.length) return null;
        const times = rows.map((row) => row.cells[0]?.querySelector("time[datetime]")?.dateTime);
        const isTime = times.every((time) => time && !Number.isNaN(Date.parse(time)));
        return {
            isTime,
            places: rows.map((row, index) => isTime ? Date.parse(times[index]) : row.cells[0]?.textContent.trim()),
            series: heads.map(({ head, column }) => ({
                name: head.textContent.trim(),
                color: head.dataset.color,
                values: rows.map((row) => cellValue(row.cells[column])),
                // Written by the server, with its unit.
                texts: rows.map(({ cells }) => cells[column]?.dataset.value && cells[column].textContent.trim()),
            })),
        };
    }

    function marksOf(element) {
        const source = document.getElementById(element.dataset.marks ?? "");
        return [...source?.querySelectorAll("time[data-mark]") ?? []]
            .map((time) => ({ at: Date.parse(time.dateTime), text: time.dataset.mark }))
            .filter((mark) => !Number.isNaN(mark.at));
    }

    // MARK: The axis of time

    const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
    const steps = [
        second, 5 * second, 15 * second, 30 * second, minute, 5 * minute, 15 * minute, 30 * minute, hour, 3 * hour,
        6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 91 * day, 365 * day,
    ];

    /// Round times in the chosen zone, one per 90 pixels at most.
    function ticksOf(axis) {
        const count = Math.max(2, Math.floor(axis.width / 90));
        const step = steps.find((step) => (axis.max - axis.min) / step <= count) ?? (axis.max - axis.min) / count;
        const ticks = [];
        let tick = axis.min;
        while (ticks.length < 1000) {
            const offset = zoneOffset(tick);
            const round = Math.ceil((tick - offset) / step) * step + offset;
            if (round > axis.max) break;
            ticks.push({ value: round });
            tick = round + 1;
        }
        return { step, ticks };
    }

    function tickText(milliseconds, step) {
        const { day: date, clock } = timeParts(milliseconds);
        if (step >= day || clock === "00:00:00") return date;
        return step < minute ? clock : clock.slice(0, 5);
    }

    // MARK: Dragging

    /// Lets a range be chosen by dragging. The inputs of the page's form do the same for the keyboard.
    function addDragging(element, canvas, chart) {
        const { from, to } = element.dataset;
        if (!from || !to) return;
        canvas.classList.add("draggable");
        const place = (event) => {
            const { left, right } = chart.chartArea;
            return Math.min(Math.max(event.clientX - canvas.getBoundingClientRect().left, left), right);
        };
        const end = () => { chart.drag = null; chart.draw(); };
        canvas.addEventListener("pointerdown", (event) => {
            if (event.button !== 0 || !event.isPrimary) return;
            chart.drag = { begin: place(event), end: place(event) };
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointermove", (event) => {
            if (!chart.drag) return;
            chart.drag.end = place(event);
            chart.draw();
        });
        canvas.addEventListener("pointercancel", end);
        canvas.addEventListener("keydown", (event) => { if (event.key === "Escape") end(); });
        canvas.addEventListener("pointerup", () => {
            if (!chart.drag) return;
            const pixels = [chart.drag.begin, chart.drag.end].sort((one, other) => one - other);
            end();
            if (pixels[1] - pixels[0] < 6) return;
            const times = pixels.map((pixel) => new Date(chart.scales.x.getValueForPixel(pixel)).toISOString());
            const address = new URL(location.href);
            address.searchParams.set(from, times[0]);
            address.searchParams.set(to, times[1]);
            for (const name of ["range", "cursor"]) address.searchParams.delete(name);
            // The next page shows this chart again, not its top.
            address.hash = element.closest("[aria-labelledby]")?.getAttribute("aria-labelledby") ?? "";
            location.assign(address);
        });
    }

    /// Draws the marks below the lines, and the range that is being dragged above them.
    const overlay = {
        id: "overlay",
        beforeDatasetsDraw(chart) {
            const { ctx, chartArea: { left, right, top, bottom }, scales: { x } } = chart;
            ctx.save();
            ctx.strokeStyle = chart.colors.text;
            ctx.setLineDash([2, 3]);
            for (const mark of chart.marks) {
                const pixel = x.getPixelForValue(mark.at);
                if (pixel < left || pixel > right) continue;
                ctx.beginPath();
                ctx.moveTo(pixel, top);
                ctx.lineTo(pixel, bottom);
                ctx.stroke();
            }
            ctx.restore();
        },
        afterDraw(chart) {
            if (!chart.drag) return;
            const { ctx, chartArea: { top, bottom } } = chart;
            const { begin, end } = chart.drag;
            ctx.save();
            ctx.globalAlpha = 0.25;
            ctx.fillStyle = chart.colors.series.blue;
            ctx.fillRect(Math.min(begin, end), top, Math.abs(end - begin), bottom - top);
            ctx.restore();
        },
    };

    // MARK: Drawing

    const charts = new Map();

    function draw(element, isFirst) {
        const table = document.getElementById(element.dataset.table ?? "");
        charts.get(element)?.destroy();
        charts.delete(element);
        element.replaceChildren();
        const data = table && read(table);
        if (!data) return;
        const kind = element.dataset.chart;
        const canvas = document.createElement("canvas");
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", label(table, element));
        element.append(canvas);
        const marks = data.isTime ? marksOf(element) : [];
        const chart = new Chart(canvas, configuration(element, kind, data, marks, isFirst));
        charts.set(element, chart);
        if (data.isTime) addDragging(element, canvas, chart);
    }

    function label(table, element) {
        const caption = table.caption?.textContent.trim() ?? "Chart";
        const hint = element.dataset.from ? " Drag over a range to see only that." : "";
        return `${caption}. The table below has the values.${hint}`;
    }

    function configuration(element, kind, data, marks, isFirst) {
        const style = getComputedStyle(element);
        const colors = {
            text: style.color, line: style.borderTopColor, series: palettes[darkScheme.matches ? "dark" : "light"],
        };
        const isBar = kind !== "line";
        const places = data.places;
        const unit = element.dataset.unit;
        const width = isBar && data.isTime ? barWidth(places) : 0;
        // Counts have no fractions between them.
        const isWhole = data.series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)));
        const names = Object.keys(colors.series);
        const grid = { color: colors.line, borderColor: colors.line, tickColor: colors.line, offset: false };
        const datasets = data.series.map((series, index) => {
            const color = colors.series[series.color] ?? colors.series[names[index % names.length]];
            return {
                label: series.name,
                data: data.isTime
                    ? series.values.map((value, row) => ({ x: places[row] + width / 2, y: value })) : series.values,
                borderColor: color, backgroundColor: color,
                borderWidth: isBar ? 0 : 2, borderDash: isBar ? [] : dashes[index % dashes.length],
                barPercentage: 1, categoryPercentage: 0.9,
                spanGaps: false, tension: 0,
                // A value between two gaps has no line: it is a point.
                pointRadius: ({ dataIndex: row }) =>
                    (series.values[row - 1] ?? null) === null && (series.values[row + 1] ?? null) === null ? 2.5 : 0,
                pointHoverRadius: 4, pointHitRadius: 8,
            };
        });
        const x = data.isTime
            ? {
                type: "linear", min: places[0], max: places.at(-1) + (width || (places.length === 1 ? 1 : 0)),
                offset: false, grid,
                afterBuildTicks(axis) {
                    const { step, ticks } = ticksOf(axis);
                    axis.step = step;
                    axis.ticks = ticks;
                },
                ticks: {
                    color: colors.text, maxRotation: 0, autoSkipPadding: 12,
                    callback(value) { return tickText(value, this.step); },
                },
            }
            : { type: "category", grid: { ...grid, display: false }, ticks: { color: colors.text, maxRotation: 45 } };
        return {
            type: isBar ? "bar" : "line",
            data: { labels: data.isTime ? undefined : places, datasets },
            options: {
                animation: isFirst && !reducedMotion.matches ? { duration: 250 } : false,
                maintainAspectRatio: false,
                interaction: { mode: "index", intersect: false },
                scales: {
                    x: { ...x, stacked: kind === "stacked" },
                    y: {
                        stacked: kind === "stacked", beginAtZero: element.dataset.zero !== "no", grid,
                        ticks: {
                            color: colors.text, precision: isWhole ? 0 : undefined,
                            callback: (value) => quantityText(value, unit),
                        },
                    },
                },
                plugins: {
                    legend: {
                        display: datasets.length > 1, position: "bottom",
                        labels: { color: colors.text, boxWidth: 24, boxHeight: isBar ? 10 : 0 },
                    },
                    tooltip: {
                        callbacks: {
                            title([item]) {
                                const place = item && places[item.dataIndex];
                                return data.isTime && item ? timeText(place) : place;
                            },
                            label: ({ datasetIndex, dataIndex, parsed }) => {
                                const series = data.series[datasetIndex];
                                return `${series.name}: ${series.texts[dataIndex] || quantityText(parsed.y, unit)}`;
                            },
                            footer: ([item]) => item && marksNear(marks, places, item.dataIndex),
                        },
                    },
                },
            },
            plugins: [
                { id: "state", beforeInit(chart) { Object.assign(chart, { colors, marks, drag: null }); } }, overlay,
            ],
        };
    }

    /// The smallest distance of two rows: each bar covers so much time.
    function barWidth(places) {
        let width = Infinity;
        for (let row = 1; row < places.length; row += 1) {
            const distance = places[row] - places[row - 1];
            if (distance > 0 && distance < width) width = distance;
        }
        return Number.isFinite(width) ? width : minute;
    }

    /// The texts of the marks that are nearer to this row than to its neighbours.
    function marksNear(marks, places, row) {
        const begin = row > 0 ? (places[row - 1] + places[row]) / 2 : -Infinity;
        const end = row + 1 < places.length ? (places[row] + places[row + 1]) / 2 : Infinity;
        const near = marks.filter((mark) => mark.at >= begin && mark.at < end).map((mark) => mark.text);
        return near.length > 5 ? [...near.slice(0, 5), `and ${near.length - 5} more`] : near;
    }

    function drawAll(isFirst) {
        for (const element of charts.keys()) {
            if (!element.isConnected) { charts.get(element).destroy(); charts.delete(element); }
        }
        for (const element of document.querySelectorAll(".chart[data-chart]")) draw(element, isFirst);
    }

    if (window.Chart) {
        Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
        drawAll(true);
        document.addEventListener("zonechange", () => drawAll(false));
        // A part of the page was loaded again.
        document.addEventListener("fresh", () => drawAll(false));
        darkScheme.addEventListener("change", () => drawAll(false));
    }
}
