"""The front door to planning: how many cases a test set takes, or what so many cases come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from heldout.api.options import StudyArguments, takes
from heldout.arguments import check_level, check_share, check_whole, listing
from heldout.comparisons.margins import KINDS, MarginKind, check_margin, check_margin_given, interval_level
from heldout.comparisons.pair_test import find_reach
from heldout.errors import OptionError
from heldout.gates.outcomes import check_gate_level
from heldout.intervals.methods import METHODS
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Bound
from heldout.studies.assumptions import (
    COEFFICIENTS,
    LOSSES,
    SHARES,
    Assumptions,
    make_sampling,
    resolve_value,
    suggest_share,
)
from heldout.studies.sampling import Claimed, Groups, NormalSampling, Sampling, f1_of_jaccard
from heldout.studies.study_plan import (
    Pairing,
    Question,
    StudyPlan,
    answer,
    ask_difference,
    ask_gate,
    ask_width,
    beta_beliefs,
)
from heldout.thresholds.requirement import Written, has_sign, read_written

USUAL_ASSURANCE = 0.8
OF_GROUPS = ("group_size", "icc", "group_variation")
OF_PAIRS = ("discordance", "correlation", "paired")


@takes(StudyArguments)
def plan_study(
    what: str = "accuracy",
    *,
    margin_kind: MarginKind = "non-inferiority",
    paired: bool = True,
    **options: Unpack[StudyArguments],
) -> StudyPlan:
    """Plan a test set: how many cases until an interval is narrow, a gate is passed or a difference is shown.

    A width asks for an interval that is at most that wide; a requirement for the cases that pass it with the power,
    where `value` is the truth; `against` for those that tell two classifiers apart, and with a `margin` for those that
    show that the first is not worse. Widths and powers are those of the default intervals and tests.

    Parameters
    ----------
    what : str
        A measure, or a requirement such as "recall >= 0.8".
    margin_kind : {"non-inferiority", "equivalence"}
        Whether the margin is for not being worse, or for not being different.
    paired : bool
        Whether both classifiers judge the same cases.
    value : float, optional
        The value that is expected of the measure.
    width : float, optional
        How wide the interval may be, from limit to limit.
    against : float, optional
        The value that is expected of another classifier, to be told apart.
    margin : float, optional
        How much worse the first may be and still count as good enough.
    n : int, optional
        A number of cases, to learn what it will show.
    power : float
        The probability of passing the gate or of showing the difference.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    prevalence : float, optional
        The share of positives among the cases.
    recall : float, optional
        Recall, for precision and F1: it says how many cases count.
    precision : float, optional
        Precision, for F1 instead of the recall.
    auc : float, optional
        The area under the ROC curve, for losses and calibration.
    discordance : float, optional
        The share of cases that exactly one of the two gets right.
    correlation : float, optional
        The correlation of the two, instead of the discordance and for areas.
    group_size : float, optional
        The mean number of cases in a group.
    icc : float, optional
        The correlation of cases of one group.
    group_variation : float
        The standard deviation of the sizes of groups over their mean.
    pilot : tuple or str, optional
        The counts of an earlier study, for what is not known: (45, 50) or "45/50".
    assurance : float, optional
        How sure the width or the power is to be, instead of on average.

    Returns
    -------
    StudyPlan
        How many cases, and of which class, or what so many come to.

    Examples
    --------
    >>> print(plan_study("accuracy", value=0.9, width=0.05).sentence)
    554 cases are needed for a 95 % interval of accuracy that is at most .050 wide on average.
    >>> plan_study("recall >= 0.8", value=0.87, prevalence=0.2, power=0.9).positives
    256

    """
    given: dict[str, Any] = {**options, "margin_kind": margin_kind, "paired": paired}
    level, power = check_level(given["level"]), _check_power(given["power"], given["level"])
    n = None if given["n"] is None else check_whole("n", given["n"], 2)
    written = read_written(what) if has_sign(str(what)) else None
    if written is not None and written.baseline:
        raise OptionError(
            f"{what!r} names a baseline, which a plan does not have.", hint="name its value with against= (--against)."
        )
    bound = read_quantity(what if written is None else written.name).bound
    groups = _read_groups(given)
    assumptions = Assumptions(
        given["value"], given["prevalence"], given["recall"], given["precision"], given["auc"], groups
    )
    assumptions.check()
    pilot = read_pilot(given["pilot"])
    differs = given["against"] is not None or given["margin"] is not None
    _check_question(given, written, differs=differs)
    if pilot is not None and assumptions.value is None and len(pilot) == 2 and bound.name in SHARES:
        share = pilot[0] / pilot[1]
        assumptions = replace(assumptions, value=2 * share / (1 + share) if bound.name == "f1" else share)
    assumptions = resolve_value(bound, assumptions)
    if differs:
        question = _ask_difference(bound, assumptions, given, level, power, pilot)
    else:
        question = _ask_one(bound, assumptions, given, level, power, written, pilot)
    notes = _notes(bound, assumptions, differs=differs)
    return answer(
        question,
        n,
        what=what.strip() if isinstance(what, str) else str(what),
        level=level,
        method=(_method if written is None else _gate_method)(bound, assumptions),
        assumed=_assumed(given, assumptions, powered=differs or written is not None),
        prevalence=assumptions.prevalence,
        group_size=None if groups is None else groups.size,
        notes=notes,
    )


def _check_power(power: float, level: float) -> float:
    check_share("The power", power, suggest_share(power))
    if power <= 1 - level:
        raise OptionError(
            f"A power of {power:g} is no more than the rate of false alarms, {1 - level:.3g}.", hint="for example 0.8."
        )
    return float(power)


def _check_question(given: dict[str, Any], written: Written | None, *, differs: bool) -> None:
    """Refuse none and several questions at once."""
    asked = [written is not None, given["width"] is not None, differs]
    if sum(asked) > 1:
        raise OptionError(
            "A width, a requirement and a difference are three questions, and more than one was asked.",
            hint="ask one at a time, and take the largest number of cases.",
        )
    if not any(asked) and given["n"] is None:
        raise OptionError(
            "What the cases are for is not said.",
            hint="give width=, against= or margin=, or a requirement such as 'recall >= 0.8' in place of the measure.",
        )
    unpaired = [name for name in OF_PAIRS if given[name] is not None and given[name] is not True]
    if unpaired and not differs:
        raise OptionError(
            f"{unpaired[0]} is about two classifiers, and one was given.", hint="give against= (--against) too."
        )
    kind = given["margin_kind"]
    if kind not in KINDS:
        raise OptionError(f"A margin is judged for {listing(KINDS)}. Got {kind!r}.", hint="use one.")
    check_margin_given(given["margin"], kind)


def _read_groups(given: dict[str, Any]) -> Groups | None:
    size, icc, variation = (given[name] for name in OF_GROUPS)
    if size is None and icc is None and not variation:
        return None
    if size is None or icc is None:
        missing = "group_size" if size is None else "icc"
        raise OptionError(
            f"Groups take their mean size and the correlation within them, and {missing} is not given.",
            hint=f"give {missing}= (--{missing.replace('_', '-')}), such as {'5' if size is None else '0.1'}.",
        )
    if not size >= 1 or not math.isfinite(size):
        raise OptionError(f"A group has at least one case. Got group_size {size!r}.", hint="for example 5.")
    if not 0 <= icc <= 1:
        raise OptionError(f"The correlation within groups must be from 0 to 1. Got {icc!r}.", hint="for example 0.1.")
    if not 0 <= variation < math.inf:
        raise OptionError(
            f"The variation of the sizes must not be below 0. Got {variation!r}.",
            hint="it is their standard deviation over their mean; 0 where all groups are alike.",
        )
    return Groups(float(size), float(icc), float(variation))


def read_pilot(pilot: Any) -> tuple[int, ...] | None:
    """The counts of a pilot: hits of n; positives and negatives of an area; or only A, only B, and n of a pair.

    >>> read_pilot("45/50"), read_pilot("30+70"), read_pilot("12,5/200"), read_pilot((45, 50))
    ((45, 50), (30, 70), (12, 5, 200), (45, 50))
    """
    if pilot is None:
        return None
    parts: Sequence[Any] = pilot.replace("+", "/").replace(",", "/").split("/") if isinstance(pilot, str) else pilot
    try:
        counts = tuple(int(part) for part in parts)
    except (TypeError, ValueError):
        counts = ()
    if len(counts) not in (2, 3) or min(counts) < 0 or not counts[-1]:
        raise OptionError(
            f"A pilot is given by its counts. Got {pilot!r}.",
            hint="write 45/50 for 45 hits of 50, 30+70 for positives and negatives, 12,5/200 for only A, only B, all.",
        )
    return counts


def _ask_one(
    bound: Bound,
    given: Assumptions,
    options: dict[str, Any],
    level: float,
    power: float,
    written: Written | None,
    pilot: tuple[int, ...] | None,
) -> Question:
    """A width or a gate."""
    sampling = make_sampling(bound, given)
    beliefs = _beliefs(bound, sampling, pilot, given)
    assurance = _check_assurance(options["assurance"], pilot, width=written is None)
    if assurance is not None and bound.name in (*LOSSES, *COEFFICIENTS):
        raise OptionError(
            f"The width of {bound.title} hardly varies, so there is no assurance to plan.", hint="leave out assurance."
        )
    if written is not None:
        check_gate_level(level)
        _check_gate(written, given.value or 0.0, options)
        return ask_gate(sampling, written, level, power, beliefs, assurance)
    width = options["width"]
    if width is not None:
        _check_width(width, bounded=bound.measure.bounded)
    elif assurance is not None:
        raise OptionError("An assurance needs the width that it is about.", hint="give width= (--width).")
    return ask_width(sampling, bound.title, level, math.nan if width is None else width, beliefs, assurance)


def _check_width(width: float, *, bounded: bool) -> None:
    if not 0 < width < math.inf or (bounded and width >= 1):
        allowed = "lie between 0 and 1" if bounded else "be a positive number"
        raise OptionError(
            f"The width must {allowed}. Got {width!r}.",
            hint="the width is from limit to limit: 0.05 for ± .025.",
        )


def _check_gate(written: Written, value: float, options: dict[str, Any]) -> None:
    meets = value > written.limit if written.sign.startswith(">") else value < written.limit
    if options["n"] is None and options["pilot"] is None and not meets:
        raise OptionError(
            f"{value:g} does not meet {written.text!r} with room to spare, so no number of cases would show it.",
            hint="expect a value beyond the bound, or ask for another bound.",
        )


def _check_assurance(assurance: float | None, pilot: tuple[int, ...] | None, *, width: bool) -> float | None:
    if assurance is None:
        # Over what a pilot leaves possible a mean width says little; a mean power is an assurance already.
        return USUAL_ASSURANCE if pilot is not None and width else None
    check_share("The assurance", assurance, suggest_share(assurance))
    if not width and pilot is None:
        raise OptionError(
            "Without a pilot the value is taken as known, and the power is all there is to be sure of.",
            hint="give pilot= (--pilot), such as 45/50, or leave out assurance.",
        )
    return float(assurance)


def _beliefs(bound: Bound, sampling: Sampling, pilot: tuple[int, ...] | None, given: Assumptions) -> list[float]:
    """The true values that are possible, each equally likely: one, or those that a pilot leaves."""
    if pilot is None:
        return [sampling.value]
    if len(pilot) == 3:
        raise OptionError(
            "A pilot of two classifiers was given, and one is planned for.", hint="write 45/50, or give against=."
        )
    if bound.name == "roc_auc" and isinstance(sampling, NormalSampling):
        if not pilot[0]:
            raise OptionError("The pilot has no positives.", hint="write 30+70 for 30 positives and 70 negatives.")
        own = make_sampling(bound, Assumptions(given.value, pilot[0] / sum(pilot)))
        return own.draw_beliefs(sum(pilot)) if isinstance(own, NormalSampling) else []
    if bound.name not in SHARES:
        raise OptionError(f"There is no plan for {bound.name} from a pilot.", hint="leave out the pilot.")
    hits, n = pilot
    if hits > n:
        raise OptionError(f"A pilot has no {hits} hits of {n}.", hint="write hits/cases, such as 45/50.")
    shares = beta_beliefs(hits, n)
    # Grouped cases are planned on the scale of the measure itself.
    bent = bound.name == "f1" and given.groups is not None
    return [float(belief) for belief in f1_of_jaccard(np.array(shares))] if bent else shares


def _ask_difference(
    bound: Bound,
    given: Assumptions,
    options: dict[str, Any],
    level: float,
    power: float,
    pilot: tuple[int, ...] | None,
) -> Question:
    value = given.need("value", "a plan begins with it")
    against = value if options["against"] is None else float(options["against"])
    if bound.measure.bounded:
        check_share("The value of the other classifier", against, suggest_share(against))
    if options["assurance"] is not None:
        raise OptionError(
            "With a pilot the power to show a difference is averaged over what the pilot leaves possible.",
            hint="leave out assurance.",
        )
    if pilot is not None and (len(pilot) != 3 or options["paired"] is False):
        raise OptionError(
            "The pilot of two classifiers on the same cases has three counts.",
            hint="write 12,5/200: cases that only the first and only the second got right, and all cases.",
        )
    better = -1.0 if bound.measure.direction == "lower" else 1.0
    margin = 0.0 if options["margin"] is None else check_margin(options["margin"], find_reach(bound.measure))
    claimed = Claimed(
        better * (value - against),
        level,
        options["margin_kind"] if margin else "difference",
        margin,
    )
    if margin:
        interval_level(level)
    _check_claim(claimed, value, options, pilot)
    triple = None if pilot is None else (pilot[0], pilot[1], pilot[2])
    pairing = Pairing(options["paired"] is not False, options["discordance"], options["correlation"], triple)
    return ask_difference(bound, given, against, claimed, pairing, power)


def _check_claim(claimed: Claimed, value: float, options: dict[str, Any], pilot: tuple[int, ...] | None) -> None:
    correlation = options["correlation"]
    if correlation is not None and not -1 < correlation < 1:
        raise OptionError(f"The correlation must lie between -1 and 1. Got {correlation!r}.", hint="for example 0.5.")
    if options["n"] is not None or pilot is not None:
        return
    if claimed.claim == "difference" and not claimed.gap:
        raise OptionError(
            f"Both values are {value:g}: no number of cases shows a difference.",
            hint="give against= another value, or margin= to show that they do not differ by more.",
        )
    outside = -claimed.gap >= claimed.margin or (claimed.claim == "equivalence" and claimed.gap >= claimed.margin)
    if claimed.claim != "difference" and outside:
        raise OptionError(
            f"The first is expected to differ by {abs(claimed.gap):g}, which is not within the margin of "
            f"{claimed.margin:g}.",
            hint="expect a smaller difference, or allow a larger margin.",
        )


def _method(bound: Bound, given: Assumptions) -> str:
    if bound.name in SHARES or bound.measure.name == "f_score":
        plain = "wilson" if bound.name in SHARES else "score"
        return plain if given.groups is None else "logit, standard error over groups"
    return bound.measure.intervals[0]


def _gate_method(bound: Bound, given: Assumptions) -> str:
    """The method of the limits by which a gate decides."""
    usual = _method(bound, given)
    return (METHODS[usual].one_sided or usual) if usual in METHODS else usual


def _assumed(options: dict[str, Any], given: Assumptions, *, powered: bool) -> dict[str, float]:
    """What was taken as given, by name."""
    assumed = {"value": given.value}
    names = ("against", "margin", "width", "power", "prevalence", "recall", "precision", "auc", "discordance")
    assumed |= {name: options[name] for name in (*names, "correlation", "assurance", *OF_GROUPS)}
    if not powered:
        del assumed["power"]
    if not options["group_variation"]:
        del assumed["group_variation"]
    return {name: float(value) for name, value in assumed.items() if value is not None}


def _notes(bound: Bound, given: Assumptions, *, differs: bool) -> tuple[str, ...]:
    notes = []
    if bound.name == "roc_auc":
        notes.append("scores are taken to be normal with equal spread in both classes, on some scale")
    if bound.name in (*LOSSES, *COEFFICIENTS):
        notes.append("probabilities are taken to be calibrated, and normal on the logit scale")
    if given.groups is not None and given.groups.size > 1:
        notes.append("more cases in the same groups help little: groups are what counts")
    if differs and bound.name in SHARES and SHARES[bound.name].basis == "a class":
        notes.append("the power is that of the test on the cases of one class")
    return tuple(notes)
