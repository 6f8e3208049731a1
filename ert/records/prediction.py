"""The public JSON of a prediction (docs/workload.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ert.records.comparison import machine_document
from ert.roofline.comparing.cautions import cautions
from ert.roofline.comparing.predict import Crossing, Forecast, Prediction
from ert.roofline.formulas import in_flight

FORMAT = "ert-roofline prediction"
VERSION = 1
"""Raised when a key changes its meaning or goes away. New keys do not raise it."""


def prediction_document(prediction: Prediction, names: Sequence[str], latency: float | None) -> dict[str, Any]:
    """Return a prediction as a JSON object in SI base units.

    Parameters
    ----------
    prediction : Prediction
    names : sequence of str
        What the machines are called so that no two are called the same.
    latency : float or None
        Latency of main memory in seconds, for the bytes in flight; None if it was not asked for.
    """
    workload = prediction.workload
    return {
        "format": FORMAT,
        "version": VERSION,
        "workload": {
            "name": workload.name,
            "parts": [
                {
                    "name": part.name,
                    "flop": part.flop,
                    "bytes": part.traffic,
                    "precision": part.precision,
                    "unit": part.unit or None,
                    "level": part.place,
                    "weight": part.weight,
                    "flop_per_byte": part.intensity,
                }
                for part in workload.parts
            ],
            "notes": list(workload.notes),
        },
        "machines": [
            {
                **machine_document(prospect.machine, name),
                "parts": [_forecast(forecast) for forecast in prospect.forecasts],
                "seconds": prospect.seconds,
                "runs_per_s": 1.0 / prospect.seconds,
                "spread": prospect.spread,
                "in_flight_bytes": None if latency is None else in_flight(prospect.machine.slope().rate, latency),
            }
            for prospect, name in zip(prediction.prospects, names, strict=True)
        ],
        "cautions": list(cautions([each.machine for each in prediction.prospects], names)),
        "ranking": [
            {
                "machine": place,
                "times_slower": 1.0 / prediction.faster(place, prediction.ranking[0]),
                "equal_to_best": prediction.equal(place, prediction.ranking[0]),
            }
            for place in prediction.ranking
        ],
        "crossings": [_crossing(crossing) for crossing in prediction.crossings],
    }


def _forecast(forecast: Forecast) -> dict[str, Any]:
    return {
        "name": forecast.part.name,
        "attainable_flop_per_s": forecast.attainable,
        "bound": forecast.bound,
        "ridge_flop_per_byte": forecast.ridge,
        "seconds": forecast.seconds,
        "total_seconds": forecast.total_seconds,
        "measured_seconds": forecast.measured,
        "compute_roof": forecast.peak.name,
        "flop_per_s": forecast.peak.rate,
        "memory_roof": forecast.slope.name,
        "byte_per_s": forecast.slope.rate,
    }


def _crossing(crossing: Crossing) -> dict[str, Any]:
    return {
        "machines": [crossing.first, crossing.second],
        "precision": crossing.precision,
        "unit": crossing.unit or None,
        "level": crossing.level,
        "flop_per_byte": crossing.at,
        "memory_ratio": crossing.memory_ratio,
        "compute_ratio": crossing.compute_ratio,
        "memory_better": crossing.memory_better,
        "compute_better": crossing.compute_better,
    }
