"""`heldout lab`: experiments on data drawn from known distributions, where the truth is known."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from heldout.arguments import closest
from heldout.cli.flags import FILES, takes_flags
from heldout.cli.output import Outputs, deliver, show
from heldout.errors import OptionError
from heldout.lab.parameters import FLAGS, PARAMETERS, spell_flag


@takes_flags(" ".join(FLAGS), FILES, **{name: PARAMETERS[name].option() for name in FLAGS})
def lab(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An experiment; by default all are listed.")
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Run an experiment where the truth is known, or list them all.

    Each tries something that the lecture notes claim (coverage, power, optimism, best of k, …) with the intervals and
    tests that the other commands use, and says how sure its figures are. An experiment takes some of the options below.
    Its usual values take seconds, and the same seed gives the same figures on any number of cores.

    \b
    Examples:
      heldout lab
      heldout lab coverage --n 20,50,100 --p 0.05
      heldout lab coverage --measure f1 --prevalence 0.1 --draws 500
      heldout lab type-one-error --learner naive-bayes --plan '10x10-fold' --jobs -1
      heldout lab power --value 0.9 --against 0.87 --discordance 0.08 -o power.svg
      heldout lab bootstrap-632 --world noise --learner knn:1 -o bootstrap.html
      heldout lab best-of-k --models 1,10,100 --n 500 --json -
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    if name is None:
        if options or outputs.forms() or outputs.others:
            raise OptionError("There is no experiment to run: name one.", hint="'heldout lab' lists them all.")
        from heldout.lab.demonstration import list_experiments

        show(list_experiments())
        return
    from heldout.lab.experiment import find_experiment

    experiment = find_experiment(name)
    outputs.check([], options)
    for option in options:
        if option not in experiment.flags:
            near = closest(option, experiment.flags)
            taken = ", ".join(map(spell_flag, experiment.flags))
            raise OptionError(
                f"The experiment {experiment.name} does not take {spell_flag(option)}. It takes: {taken}.",
                hint=f"did you mean {spell_flag(near)}?" if near else f"leave out {spell_flag(option)}.",
            )
    values = {key: _read(key, text) for key, text in options.items()}
    deliver(experiment.function(**{"jobs": "auto", **values}), outputs)


def _read(name: str, text: Any) -> Any:
    """The value that the text of a flag stands for; the number of jobs has been read already."""
    return PARAMETERS[name].read(spell_flag(name)[2:], text) if isinstance(text, str) and name != "jobs" else text
