"""A replay as a picture: use and waits by tenant over time, and how fair it was to how many jobs."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgate_scheduler.replay.metrics import UNFAIR
from fairgate_scheduler.replay.study import Study
from fairgate_scheduler.replay.timeline import timeline

SHOWN: Final = 9
"""So many tenants have a colour of their own, those that used most; the rest is one."""
OTHERS: Final = "others"
DAY_MS: Final = 86_400_000
"""matplotlib counts dates in days since 1970."""


def draw(study: Study, image: str) -> bytes:
    """The picture as a file. ``image``: svg or png."""
    figures = study.figures
    over_time = timeline(study.outcomes, figures.begin_ms, figures.end_ms)
    instants = [start_ms / DAY_MS for start_ms in over_time.starts_ms]
    by_use = sorted(figures.tenants, key=lambda each: (-each.accelerator_hours, each.tenant))
    shown = [each.tenant for each in by_use[:SHOWN]]
    picture = Figure(figsize=(11, 10), layout="constrained")
    used, waiting, fair = picture.subplots(3, 1)
    _stack(used, instants, _grouped(over_time.used, shown))
    if figures.accelerators is not None:
        used.axhline(figures.accelerators, color="black", linewidth=0.8, linestyle="--", label="all there are")
    used.set_title(f"{study.trace.file.rpartition('/')[2]}: accelerators in use", loc="left")
    used.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    _stack(waiting, instants, _grouped(over_time.waiting, shown))
    waiting.set_title("accelerators that waiting jobs ask for", loc="left")
    _fairness(fair, study.rhos)
    out = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "fairgate"}):
        picture.savefig(out, format=image, dpi=120, metadata={"Date": None} if image == "svg" else None)
    return out.getvalue()


def _stack(axes: Axes, instants: Sequence[float], by_tenant: Mapping[str, Sequence[float]]) -> None:
    colours = [*mpl.color_sequences["tab10"][: len(by_tenant)]]
    axes.stackplot(instants, *by_tenant.values(), labels=list(by_tenant), colors=colours, step="post")
    axes.xaxis_date()
    axes.set_ylim(bottom=0)
    axes.margins(x=0)


def _grouped(by_tenant: Mapping[str, Sequence[float]], shown: Sequence[str]) -> Mapping[str, Sequence[float]]:
    """The shown tenants in their order, and the sum of the others."""
    nothing = [0.0] * max(map(len, by_tenant.values()), default=0)
    rest = [values for tenant, values in by_tenant.items() if tenant not in shown]
    out = {tenant: by_tenant.get(tenant, nothing) for tenant in shown}
    return {**out, OTHERS: [sum(each) for each in zip(*rest, strict=True)]} if rest else out


def _fairness(axes: Axes, rhos: Sequence[float]) -> None:
    ordered = sorted(rhos)
    axes.step(ordered, [100 * place / len(ordered) for place in range(1, len(ordered) + 1)], where="post")
    axes.axvline(float(UNFAIR), color="black", linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_title("finish-time fairness: % of jobs with at most this ρ (left of the line: fair)", loc="left")
    axes.set_ylim(0, 100)
