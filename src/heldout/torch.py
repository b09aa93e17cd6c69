"""Training loops of PyTorch: evidence that grows on the device, in constant memory, and merges over processes."""

from __future__ import annotations

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = "heldout.torch needs PyTorch, which is not installed. Install it with: pip install torch"
    raise ModuleNotFoundError(message, name="torch") from None

from collections.abc import Sequence
from typing import Any

import numpy as np

from heldout.api.evaluate import evaluate
from heldout.api.training import refuse_shapes
from heldout.arguments import check_whole, listing
from heldout.engines import accumulator
from heldout.engines.tensors import loss_sums
from heldout.engines.tensors.batch_checks import (
    NEVER,
    begin_checks,
    find_fault,
    merge_firsts,
    note_end,
    note_faults,
    read_flags,
)
from heldout.engines.tensors.exact_area import measure_area
from heldout.engines.tensors.kernels import add_cells, count_batch, counts_batches
from heldout.engines.tensors.ladder_cells import bins_of_counters, choose_ladder, find_cells
from heldout.engines.tensors.transfers import fetch
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.evidence import Confusion, Label
from heldout.evidence.counted import Counted, ScoreTally, class_columns, most_bins, weightless_note
from heldout.evidence.score_bins import MOST
from heldout.predictions.case_values import NOISE, ask_for_positive, refuse_infinite
from heldout.predictions.label_encoding import check_label_list
from heldout.predictions.positive_class import choose_positive, quoted
from heldout.predictions.score_columns import sum_tolerance
from heldout.results.evaluation import Evaluation

__all__ = ["Evidence", "roc_auc"]

# Small sums that every process writes into a place of its own, so that one sum over all processes gathers them.
OWN = ("centre", "sums", "first_row", "first_value", "ends", "span")
# Counters of which only what was met is brought to memory.
LARGE = ("bins", "confusion")
# The bits of an infinite float, which are above those of all others.
ENDLESS = 0x7FF0000000000000
# Counters that do not start at 0.
BEGUN = {"first_row": torch.inf, "ends": NEVER, "span": torch.inf, "reach": ENDLESS}


class Evidence(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """What a training or validation loop counts of its batches, on the device, without waiting for it.

    Memory is constant however many batches come: a confusion matrix, bins of the probabilities, and sums of losses.
    Nothing is read back before `compute`, which also says what was wrong with the values. Scores are counted in a fixed
    set of bins, so areas come with bounds.

    It can be an attribute of a module: it moves with `.to(device)`, keeps its counts in floats of 64 bits whatever the
    model's precision, and stays out of the model's `state_dict`.

    Parameters
    ----------
    labels : int or sequence of labels
        The number of classes, or their names in the order of the logits. Targets are places among them, from 0.
    positive : label, optional
        The positive class of two; of usual pairs such as no and yes or 0 and 1 it is known.
    threshold : float
        The probability from which on the positive class of two is predicted.
    logits : bool, optional
        Whether batches are logits or probabilities. Unless said, a batch of numbers from 0 to 1, whose rows sum to 1 if
        there is one for each class, is one of probabilities; batches of both kinds are refused.
    weighted : bool
        Whether every batch comes with weights.
    ignored : int, optional
        The target of rows that do not count, as in PyTorch's losses.
    process_group : torch.distributed.ProcessGroup, optional
        Which processes are merged by `compute`; by default all of them.

    Examples
    --------
    >>> import torch
    >>> seen = Evidence(labels=["cat", "dog", "fox"])
    >>> for logits, targets in [([[2.0, 0.5, 0.1]], [0]), ([[0.3, 0.2, 1.5], [1.0, 0.2, 0.1]], [2, 1])]:
    ...     seen.update(torch.tensor(logits), torch.tensor(targets))
    >>> seen.compute()["accuracy"].value
    0.6666666666666666

    """

    def __init__(
        self,
        labels: int | Sequence[Label] = 2,
        *,
        positive: Label | None = None,
        threshold: float = 0.5,
        logits: bool | None = None,
        weighted: bool = False,
        ignored: int | None = -100,
        process_group: Any = None,
    ) -> None:
        super().__init__()
        self.labels = _name_classes(labels)
        self.positive = choose_positive(positive, self.labels)
        if len(self.labels) == 2 and self.positive is None:
            raise ask_for_positive(self.labels, "name it: heldout.torch.Evidence(…, positive=…).")
        cut = accumulator.checked_threshold(threshold)
        self.threshold = 0.5 if cut is None else cut
        self.logits, self.weighted, self.ignored, self.process_group = logits, weighted, ignored, process_group
        self._ladder = choose_ladder(len(self.labels))
        # Not buffers: a distributed model copies those of its first process to all the others.
        self._state: dict[str, Any] = {}
        self._rows = 0

    # Counting.

    @torch.no_grad()
    def update(self, scores: Any, targets: Any, weight: Any = None) -> None:
        """Count a batch: logits or probabilities, the true class of each row, and what it weighs.

        Parameters
        ----------
        scores : tensor of floats
            One number per row for the positive class of two, or a column for each class.
        targets : tensor of whole numbers
            The place of the true class of each row, from 0.
        weight : tensor, optional
            How much each row counts.

        """
        values, targets, weight = self._shaped(scores, targets, weight)
        if not self._state:
            self._state = self._begin(values.device)
        state, k = self._state, len(self.labels)
        targets, weight = targets.to(values.device), None if weight is None else weight.to(values.device).double()
        before, self._rows = self._rows, self._rows + len(values)
        if not len(values):
            return
        if k == 2 and before and weight is None and counts_batches(values, targets):
            mode = 0 if self.logits is None else 1 if self.logits else 2
            count_batch(state, values, targets, self._ladder, mode, self._place, self.ignored, before)
            return
        true, valid, weight = self._checked(values, targets, weight, before)
        p = self._probabilities(torch.where(valid[:, None], values, 0.0), valid, before)
        for row, end in enumerate((p, -p)):
            lowest = torch.where(valid[:, None], end, torch.inf).amin(dim=0).double()
            state["span"][row] = torch.minimum(state["span"][row], lowest)
        eps = float(torch.finfo(p.dtype).eps)
        if k == 2:
            p = p[:, 0].double()
            called = p >= self.threshold
            positive = true == self._place
            loss_sums.add_positive(state, p, positive, eps, weight, valid)
            self._add_bins(p[:, None], positive.long()[:, None], weight, valid)
            predicted = torch.where(called, self._place, 1 - self._place)
        else:
            loss_sums.add_classes(state, p, true, eps, weight, valid)
            self._add_classes(p, true, weight, valid)
            predicted = p.argmax(dim=1)
        self._count("confusion", true * k + predicted, weight, valid)

    def forward(self, scores: Any, targets: Any, weight: Any = None) -> None:
        """The same as `update`."""
        self.update(scores, targets, weight)

    def _begin(self, device: Any) -> dict[str, Any]:
        k = len(self.labels)
        tables = {"confusion": k * k, "bins": len(self._ladder) * (2 if k == 2 else k * class_columns(k))}
        state = {name: torch.zeros(size, dtype=torch.int64, device=device) for name, size in tables.items()}
        if self.weighted:
            wide = {"dtype": torch.float64, "device": device}
            state |= {f"{name}_{what}": torch.zeros(size, **wide)
                      for name, size in tables.items() for what in ("weights", "squares")}  # fmt: skip
        if k == 2:
            # The bits, as a float, of the least score and of the negative of the greatest; kernels take minima of them.
            state["reach"] = torch.full((2,), ENDLESS, dtype=torch.int64, device=device)
            edges = [*np.linspace(0, 1, loss_sums.BINS + 1)[1:-1].tolist(), self.threshold]
            state["limits"] = torch.tensor(edges, dtype=torch.float64).to(device)
        # The least score of every column, and the negative of the greatest.
        state["span"] = torch.full((2, 1 if k == 2 else k), torch.inf, dtype=torch.float64, device=device)
        return {**state, **loss_sums.begin(k, device, weighted=self.weighted), **begin_checks(device)}

    @property
    def _place(self) -> int:
        return self.labels.index(self.positive) if self.positive is not None else 1

    def _shaped(self, scores: Any, targets: Any, weight: Any) -> tuple[Any, Any, Any]:
        """The batch with a column of scores for each class, or one for the positive class of two."""
        k = len(self.labels)
        if not torch.is_tensor(scores) or not torch.is_tensor(targets) or not torch.is_floating_point(scores):
            kinds = " and ".join(str(getattr(given, "dtype", type(given).__name__)) for given in (scores, targets))
            raise ValuesError(
                f"A batch is a tensor of logits or probabilities and one of targets. Got {kinds}.",
                hint="pass update(logits, targets); predicted classes are counted by heldout.Evidence.",
            )
        # Metal has no 64-bit floats, and shares its memory with the processor.
        values = scores.detach().cpu() if scores.device.type == "mps" else scores.detach()
        values = values[:, None] if values.ndim == 1 else values
        fitting = (1, 2) if k == 2 else (k,)
        flat = targets.detach().reshape(-1) if targets.ndim == 2 and targets.shape[1] == 1 else targets.detach()
        if values.ndim != 2 or values.shape[1] not in fitting or flat.shape != values.shape[:1]:
            raise refuse_shapes(scores.shape, targets.shape, k)
        if (weight is not None) != self.weighted or (weight is not None and weight.shape != flat.shape):
            raise ValuesError(
                f"Weights were {'not ' if weight is None else ''}given, and the evidence is "
                f"{'' if self.weighted else 'not '}weighted."
                if (weight is not None) != self.weighted
                else f"The columns differ in length: truth has {len(flat):,}, weight has {len(weight):,}.",
                hint="say heldout.torch.Evidence(…, weighted=True) and give every batch one weight per row.",
            )
        return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values, flat, weight

    def _checked(self, values: Any, targets: Any, weight: Any, before: int) -> tuple[Any, Any, Any]:
        """The place of the true class, which rows count, and their weights; what is wrong is noted on the device."""
        state, k = self._state, len(self.labels)
        columns: dict[str, Any] = {}
        given: dict[str, Any] = {}
        counting = torch.ones(len(values), dtype=torch.bool, device=values.device)
        if self.ignored is not None:
            counting = targets != self.ignored
            columns["ignored"] = ~counting
        if weight is not None:
            columns["weightless"] = counting & (weight == 0)
            counting &= weight != 0
            columns["weight"] = counting & weight.isnan()
            columns["heavy"] = counting & ~columns["weight"] & ~(weight.isfinite() & (weight > 0))
            given["heavy"] = weight
        if targets.is_floating_point():
            columns["truth"] = counting & targets.isnan()
            columns["fraction"] = counting & ~columns["truth"] & (targets != targets.floor())
            given["fraction"] = targets
            targets = torch.where(columns["truth"] | columns["fraction"], 0, targets)
        true = targets.long()
        columns["outside"] = counting & ((true < 0) | (true >= k))
        for name, end in (("low outside", true), ("high outside", -true)):
            note_end(state, name, torch.where(columns["outside"], end, NEVER).amin())
        columns["score"] = counting & values.isnan().any(dim=1)
        columns["infinite"] = (values.isinf() & counting[:, None]).sum(dim=1)
        columns["lost"] = columns["score"]
        for role in ("truth", "weight"):
            if role in columns:
                columns["lost"] = columns["lost"] | columns[role]
        note_faults(state, columns, given, before)
        valid = counting & ~columns["lost"] & ~columns["outside"] & (columns["infinite"] == 0)
        if weight is not None:
            valid &= ~columns["heavy"]
            weight = torch.where(valid, weight, 0.0)
        return torch.where(valid, true, 0), valid, weight

    def _probabilities(self, values: Any, valid: Any, before: int) -> Any:
        """Probabilities of every class, or of the positive one of two; rows that do not count are 0."""
        state, columns = self._state, values.shape[1]
        fine = ((values >= -NOISE) & (values <= 1 + NOISE)).all(dim=1)
        if columns > 1:
            fine &= (values.double().sum(dim=1) - 1).abs() <= sum_tolerance(columns)
        fine |= ~valid
        if columns == 1:
            likely = torch.sigmoid(values)
            given = values
        elif len(self.labels) == 2:
            place = self._place
            given = values[:, place : place + 1]
            likely = torch.sigmoid(given - values[:, 1 - place : 2 - place])
        else:
            likely, given = torch.softmax(values, dim=1), values
        given = given.clamp(0, 1)
        if self.logits is None:
            all_fine, there = fine.all(), valid.any()
            # The last of the flags: batches of logits, and of probabilities.
            state["flags"][-2:] += torch.stack([~all_fine & there, all_fine & there])
            return torch.where(all_fine, given, likely)
        if not self.logits:
            note_faults(state, {"improbable": ~fine}, {}, before)
        return likely if self.logits else given

    def _add_classes(self, p: Any, true: Any, weight: Any, valid: Any) -> None:
        """Count the scores of every class in its bins, some rows at a time."""
        k = p.shape[1]
        at_once = max(loss_sums.TABLE_AT_ONCE // k, 1)
        column = torch.arange(k, device=p.device)
        for start in range(0, len(p), at_once):
            rows = slice(start, start + at_once)
            own = true[rows, None].expand(-1, k) if class_columns(k) == k else (true[rows, None] == column).long()
            self._add_bins(p[rows].double(), own, None if weight is None else weight[rows], valid[rows])

    def _add_bins(self, p: Any, sides: Any, weight: Any, valid: Any) -> None:
        columns, k = p.shape[1], len(self.labels)
        tables = 2 if k == 2 else class_columns(k)
        first = torch.arange(columns, device=p.device) * len(self._ladder)
        key = (find_cells(self._ladder, p) + first) * tables + sides
        rows = valid[:, None].expand(-1, columns).reshape(-1)
        wide = None if weight is None else weight[:, None].expand(-1, columns).reshape(-1)
        self._count("bins", key.reshape(-1), wide, rows)

    def _count(self, name: str, key: Any, weight: Any, valid: Any) -> None:
        add_cells(self._state[name], key, valid)
        if weight is not None:
            self._state[f"{name}_weights"].scatter_add_(0, key, weight)
            self._state[f"{name}_squares"].scatter_add_(0, key, weight * weight)

    # Answers.

    def compute(self, **options: Any) -> Evaluation:
        """The evaluation of all batches, of all processes where there are several; takes the options of `evaluate`.

        Every process of the group must call it. Bad values are said here, once, in the words of `heldout.evaluate`.
        """
        return evaluate(self.counted(), **options)

    @property
    def evidence(self) -> accumulator.Evidence:
        """What was counted as `heldout.Evidence`, which merges with +, is saved, and is evaluated later."""
        return accumulator.Evidence.of(self.counted())

    def counted(self) -> Counted:
        """What was counted, of all processes where there are several."""
        counters, rows = self._gathered()
        if not rows:
            raise ValuesError("There are no cases: no batch was counted.", hint="pass batches to update() first.")
        state = {
            name: part.cpu().numpy() if torch.is_tensor(part) else part
            for name, part in counters.items()
            if not name.startswith(LARGE)
        }
        problem = find_fault(state, rows, self.labels)
        if problem is not None:
            raise problem
        flags = read_flags(state)
        cases = int(state["cases"].sum())
        if not cases:
            raise ValuesError("There are no cases: every row was left out.", hint="check the targets and the weights.")
        return Counted(
            confusion=self._confusion(counters),
            positive=self.positive,
            threshold=self.threshold if len(self.labels) == 2 else None,
            scores=self._scores(state, counters),
            rows=cases,
            declared=True,
            notes=(weightless_note(flags["weightless"]),) if flags["weightless"] else (),
        )

    def _confusion(self, counters: dict[str, Any]) -> Confusion:
        there = counters["confusion"].nonzero()[:, 0]
        names = ("", "_weights", "_squares") if self.weighted else ("",)
        cases, *sums = (fetch(counters[f"confusion{what}"][there]) for what in names)
        cells_met, k = fetch(there), len(self.labels)
        if not sums:
            return Confusion(self.labels, cells_met // k, cells_met % k, cases)
        return Confusion(self.labels, cells_met // k, cells_met % k, sums[0], squares=sums[1], rows=cases)

    def _scores(self, state: dict[str, Any], counters: dict[str, Any]) -> ScoreTally:
        k = len(self.labels)
        columns, tables = (1, 2) if k == 2 else (k, class_columns(k))
        names = ("bins", "bins_weights", "bins_squares") if self.weighted else ("bins",)
        cells = [counters[name].reshape(columns, len(self._ladder), tables) for name in names]
        span, most = state["span"].T * [1.0, -1.0] + 0.0, MOST if k == 2 else most_bins(k)
        bins = bins_of_counters(self._ladder, cells, span, most)
        return ScoreTally(bins, loss_sums.probabilities(state), None, () if k == 2 else self.labels)

    def _gathered(self) -> tuple[dict[str, Any], int]:
        """Everything that was counted, and how many rows were given, over all processes; counters stay tensors."""
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return _folded(self._state), self._rows
        group = self.process_group
        world, rank = torch.distributed.get_world_size(group), torch.distributed.get_rank(group)
        state = _folded(self._state or self._begin(_device_of(group)))
        shared = {name: tensor for name, tensor in state.items() if name not in OWN}
        own = torch.cat([state[name].reshape(-1).double() for name in OWN])
        slots = torch.zeros((world, len(own)), dtype=torch.float64, device=own.device)
        slots[rank] = own
        rows = torch.full((1,), self._rows, dtype=torch.float64, device=own.device)
        # One kind of number, one buffer, one message: whole numbers below 2**53 are added without rounding.
        flat: Any = torch.cat([rows, *(tensor.reshape(-1).double() for tensor in shared.values()), slots.reshape(-1)])
        torch.distributed.all_reduce(flat, group=group)
        rows, *parts, taken = flat.split([1, *(tensor.numel() for tensor in shared.values()), slots.numel()])
        merged = {
            name: part.reshape(tensor.shape).to(tensor.dtype)
            for (name, tensor), part in zip(shared.items(), parts, strict=True)
        }
        each = []
        for part in taken.reshape(world, -1).cpu().numpy():
            pieces = np.split(part, np.cumsum([state[name].numel() for name in OWN])[:-1])
            each.append(
                {name: piece.reshape(tuple(state[name].shape)) for name, piece in zip(OWN, pieces, strict=True)}
            )
        span = np.min([part["span"] for part in each], axis=0)
        return {**merged, **loss_sums.merge(each), **merge_firsts(each), "span": span}, int(rows)

    # Keeping.

    def reset(self) -> None:
        """Forget everything that was counted; the counters stay where they are."""
        for name, tensor in self._state.items():
            if name != "limits":
                tensor.fill_(BEGUN.get(name, 0))
        self._rows = 0

    def state_dict(self, *args: Any, destination: Any = None, **more: Any) -> Any:  # noqa: ARG002
        """Everything that was counted, to go on later; nothing where a model around it asks for its weights."""
        if args or destination is not None:
            return args[0] if args else destination
        return {"settings": self._settings(), "rows": self._rows, "counts": dict(self._state)}

    def load_state_dict(self, state_dict: Any, *_args: Any, **_more: Any) -> None:
        """Go on from what `state_dict` gave."""
        settings = self._settings()
        if state_dict["settings"] != settings:
            differing = [name for name, value in settings.items() if state_dict["settings"].get(name) != value]
            raise OptionError(
                f"The saved evidence was counted with other settings: {', '.join(differing)}.",
                hint="make the evidence with the same labels, positive class, threshold and weights.",
            )
        self._state = {name: tensor.clone() for name, tensor in state_dict["counts"].items()}
        self._rows = int(state_dict["rows"])

    def _settings(self) -> dict[str, Any]:
        names = ("labels", "positive", "threshold", "logits", "weighted", "ignored")
        return {name: getattr(self, name) for name in names}

    def _apply(self, fn: Any, *args: Any, **more: Any) -> Any:
        # The counters follow the model to its device, but keep their own precision.
        self._state = {name: tensor.to(fn(tensor).device) for name, tensor in self._state.items()}
        module: Any = super()
        return module._apply(fn, *args, **more)  # noqa: SLF001 - one's own

    def extra_repr(self) -> str:
        """What the module shows of itself."""
        return f"{len(self.labels)} classes, {self._rows:,} rows"


def roc_auc(scores: Any, targets: Any) -> float:
    """The exact ROC area of scores of two classes, worked out where the tensors are; ties count half.

    An evaluation gives it with an interval; beyond 2**20 distinct scores that is made of bins, with bounds.

    Parameters
    ----------
    scores : tensor
        A score for each case, finite; worked on in floats of 32 bits.
    targets : tensor
        Whether each case is positive: booleans, or 0 and 1.

    Examples
    --------
    >>> import torch
    >>> roc_auc(torch.tensor([0.9, 0.2, 0.2]), torch.tensor([1, 1, 0]))
    0.75

    """
    if scores.shape != targets.shape or scores.ndim != 1:
        raise ValuesError(
            f"The columns differ in length: score has {tuple(scores.shape)}, truth has {tuple(targets.shape)}.",
            hint="pass one value per case in each.",
        )
    values = scores.detach().float()
    if not bool(values.isfinite().all()):
        bad = ~values.isfinite()
        raise refuse_infinite(int(bad.sum()), int(bad.byte().argmax()))
    return measure_area(values, targets != 0)


def _name_classes(labels: Any) -> tuple[Label, ...]:
    if isinstance(labels, int) and not isinstance(labels, bool):
        check_whole("labels", labels, 2)
        return tuple(range(labels))
    check_label_list(labels, "write ['no', 'yes'], or the number of classes.")
    names = tuple(labels)
    if len(set(names)) != len(names) or len(names) < 2:
        raise LabelError(
            f"There must be at least two classes, each named once. Got {listing(map(quoted, names))}.",
            hint="name each class once, as in labels=['no', 'yes'].",
        )
    return names


def _folded(state: dict[str, Any]) -> dict[str, Any]:
    """The state with what kernels reached among the other ends, and without what only they need."""
    if "reach" not in state:
        return state
    least, greatest = state["reach"].unbind()
    limits = torch.stack([least.view(torch.float64), -(-greatest).view(torch.float64)])
    limits = torch.where(state["reach"] == ENDLESS, torch.inf, limits)
    rest = {name: tensor for name, tensor in state.items() if name not in ("reach", "limits")}
    return {**rest, "span": torch.minimum(state["span"], limits[:, None])}


def _device_of(group: Any) -> Any:
    """Where the numbers of a process that has counted nothing must be, to be added to those of the others."""
    if "nccl" in str(torch.distributed.get_backend(group)):
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")
