"""Predictions in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from ert.roofline.comparing.cautions import cautions
from ert.roofline.comparing.predict import Crossing, Forecast, Prediction, Prospect, Workload
from ert.roofline.formulas import in_flight
from ert.roofline.model import MEMORY
from ert.show import units
from ert.show.comparison import ratio_text
from ert.show.grid import Grid
from ert.show.machines import origin
from ert.show.sections import Section
from ert.show.words import operation

BOUNDS = (
    "These are lower bounds of time: what the roofs allow if nothing else is in the way. A kernel that has another "
    "limit takes longer."
)


def sections(prediction: Prediction, names: Sequence[str], latency: float | None) -> list[Section]:
    """Return a prediction as text and tables: the workload, each machine from the best on, and where the order changes.

    Parameters
    ----------
    prediction : Prediction
    names : sequence of str
        What the machines are called so that no two are called the same.
    latency : float or None
        Latency of main memory in seconds, if the bytes in flight were asked for.
    """
    found = [_workload(prediction.workload)]
    if len(prediction.workload.parts) > 1:
        found += [_machine(prediction.prospects[place], names[place]) for place in prediction.ranking]
    found.append(_result(prediction, names))
    if told := [*cautions([each.machine for each in prediction.prospects], names), *beaten(prediction, names)]:
        found.append(Section("Mind", items=tuple(told)))
    if prediction.crossings:
        title = "Which attains more at which intensity, by the headline roofs"
        found.append(Section(title, items=tuple(crossing_text(each, names) for each in prediction.crossings)))
    if latency is not None:
        found.append(_in_flight(prediction, names, latency))
    return found


def _workload(workload: Workload) -> Section:
    parts = workload.parts
    weighted = any(part.weight != 1 for part in parts)
    leveled = any(part.place != MEMORY for part in parts)
    counted = "/".join(dict.fromkeys(operation(part.precision) for part in parts))
    header = ["part", "work", "traffic", f"{counted}/byte", "precision"]
    header += ["level"] * leveled + ["weight"] * weighted
    rows = []
    for part in parts:
        cells = [part.name, units.short(part.flop) + operation(part.precision), units.short(part.traffic) + "B"]
        cells += [units.number(part.intensity), " ".join(filter(None, (part.precision, part.unit)))]
        cells += [part.place] * leveled + [f"{part.weight:g}"] * weighted
        rows.append(tuple(cells))
    title = f"Workload: {workload.name}"
    return Section(title, items=workload.notes, grids=(Grid(tuple(header), tuple(rows)),))


def _machine(prospect: Prospect, name: str) -> Section:
    rows = [
        (forecast.part.name, *_cells(forecast), units.percent(forecast.total_seconds / prospect.seconds))
        for forecast in prospect.forecasts
    ]
    header = ("part", "attainable", "bound", "ridge", "at least", "share")
    return Section(name, (f"{_capital(origin(prospect.machine))}.",), grids=(Grid(header, tuple(rows)),))


def _cells(forecast: Forecast) -> tuple[str, str, str, str]:
    return (
        units.rate(forecast.attainable, operation(forecast.part.precision)),
        forecast.bound,
        units.number(forecast.ridge),
        units.seconds(forecast.total_seconds),
    )


def _result(prediction: Prediction, names: Sequence[str]) -> Section:
    """Return the machines side by side, the best first, and the answer in a sentence."""
    ranking = prediction.ranking
    single = len(prediction.workload.parts) == 1
    several = len(ranking) > 1
    header = ["machine", *(["attainable", "bound", "ridge"] if single else []), "at least", "runs/s"]
    header += ["time/best"] * several
    rows = []
    for place in ranking:
        prospect = prediction.prospects[place]
        cells = [names[place], *(_cells(prospect.forecasts[0])[:3] if single else ())]
        cells += [units.seconds(prospect.seconds), units.number(1.0 / prospect.seconds)]
        cells += [ratio_text(prediction.faster(ranking[0], place))] * several
        rows.append(tuple(cells))
    sentences = [answer(prediction, names), BOUNDS] if several else [BOUNDS]
    origins = (f"{names[place]}: {origin(prediction.prospects[place].machine)}" for place in ranking)
    items = tuple(origins) if single else ()
    title = "Which machine serves it better" if several else "Result"
    return Section(title, tuple(sentences), items, (Grid(tuple(header), tuple(rows)),))


def answer(prediction: Prediction, names: Sequence[str]) -> str:
    """Say which machine serves the workload better and by how much."""
    best, *others = prediction.ranking
    texts = []
    for place in others:
        if prediction.equal(best, place):
            spread = prediction.prospects[best].spread or prediction.prospects[place].spread
            texts.append(f"equal to {names[place]}" + (" within the spread of their roofs" if spread else ""))
        else:
            texts.append(f"{ratio_text(prediction.faster(best, place))} times as fast as {names[place]}")
    if all(prediction.equal(best, place) for place in others):
        return f"No machine serves it better: {names[best]} is {', '.join(texts)}."
    seconds = units.seconds(prediction.prospects[best].seconds)
    return f"{names[best]} serves it best, at least {seconds} a run: {', '.join(texts)}."


def beaten(prediction: Prediction, names: Sequence[str]) -> list[str]:
    """Say which kernels were measured to be faster than what their own machine's roofs are said to allow."""
    return [
        f"{name}: {each.part.name} was measured in {units.seconds(each.measured)}, which is less than its lower bound "
        f"of {units.seconds(each.seconds)}: its traffic is counted too high, or {each.slope.name} or {each.peak.name} "
        "was measured too low."
        for name, prospect in zip(names, prediction.prospects, strict=True)
        for each in prospect.forecasts
        if each.measured is not None and each.beaten
    ]


def crossing_text(crossing: Crossing, names: Sequence[str]) -> str:
    """Say which of two machines attains more at which intensity."""
    what = ", ".join(filter(None, (crossing.precision, crossing.unit, crossing.level)))
    unit = f"{operation(crossing.precision)}/byte"
    first, second = names[crossing.first], names[crossing.second]

    def ahead(place: int, ratio: float) -> str:
        return f"{names[place]} attains more, up to {ratio_text(max(ratio, 1 / ratio))} times"

    low, high = crossing.memory_better, crossing.compute_better
    if low is None and high is None:
        text = f"{first} and {second} are equal at every intensity"
    elif low is None or high is None:
        at = crossing.begins if low is None else crossing.ends
        equal = f"{first} and {second} are equal"
        below = equal if low is None else ahead(low, crossing.memory_ratio)
        above = equal if high is None else ahead(high, crossing.compute_ratio)
        text = f"below {units.number(at)} {unit} {below}; above, {above}"
    elif crossing.at is None:
        factors = sorted(max(ratio, 1 / ratio) for ratio in (crossing.memory_ratio, crossing.compute_ratio))
        text = f"{names[low]} attains more than {second if low == crossing.first else first} at every intensity, "
        text += f"{ratio_text(factors[0])} to {ratio_text(factors[1])} times"
    else:
        text = f"below {units.number(crossing.at)} {unit} {ahead(low, crossing.memory_ratio)}; above, "
        text += ahead(high, crossing.compute_ratio)
    return f"{what}: {text}."


def _in_flight(prediction: Prediction, names: Sequence[str], latency: float) -> Section:
    rows = []
    for place in prediction.ranking:
        slope = prediction.prospects[place].machine.slope()
        rows.append((names[place], units.rate(slope.rate, "B"), units.short(in_flight(slope.rate, latency)) + "B"))
    text = f"At a latency of {units.seconds(latency)} so many bytes must be outstanding to reach the memory roof"
    text += " (Little's law)."
    return Section("In flight", (text,), grids=(Grid(("machine", "memory roof", "in flight"), tuple(rows)),))


def summary_title(prediction: Prediction, names: Sequence[str]) -> str:
    """Return the title of the chart: the workload, and the answer if there is a choice."""
    name = prediction.workload.name
    if len(prediction.prospects) == 1:
        return f"{name} on {names[0]}"
    best, second, *_ = prediction.ranking
    if prediction.equal(best, second):
        return f"{name}: {names[best]} and {names[second]} are equal"
    return f"{name}: {names[best]} is {ratio_text(prediction.faster(best, second))} times as fast as {names[second]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
