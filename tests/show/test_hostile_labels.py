"""Two hundred hostile labels in every HTML and SVG that is written: a real browser finds text and runs nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browsing import Watched

import heldout
from heldout.show.chart import Axis, Caption, Chart, Dots, Stroke, Tips
from heldout.show.figure import figure_svg, save_chart

# What may end the place that a text stands in, and what would run there.
BREAKS = (
    "", "'", '"', "`", "'>", '">', "-->", "]]>", "</script>", "</style>", "</title>", "</textarea>", "</desc></svg>",
    "\\", "&quot;>", "\u2028",
)  # fmt: skip
PAYLOADS = (
    "<script>window.ran=1</script>",
    "<img src=x onerror=window.ran=2>",
    "<svg/onload=window.ran=3>",
    " onmouseover=window.ran=4 x=",
    "javascript:window.ran=5",
    "<iframe srcdoc='<script>parent.ran=6</script>'>",
    "${window.ran=7}",
    "{{constructor.constructor('window.ran=8')()}}",
    "<a href=javascript:window.ran=9>x</a>",
    "<style>*{background:url(http://evil.example/)}</style>",
    "<base href=http://evil.example/><meta http-equiv=refresh content=0;url=http://evil.example/>",
    "<details open ontoggle=window.ran=10>x</details>",
    "<!--",
)
LABELS = [f"{close}{payload}" for close, payload in itertools.product(BREAKS, PAYLOADS)]

# What an element may never be or have in anything that we write; our own script and data are known by their places.
LOOK = """() => ({
  ran: window.ran === undefined ? '' : String(window.ran),
  tags: [...document.querySelectorAll('img, iframe, base, object, embed, style ~ style, body script')].filter(
    (e) => !(e.matches('script[type="application/json"][data-payload]') ||
             (e.matches('script') && e.textContent.startsWith('"use strict";')) || e.matches('svg style')))
    .map((e) => e.outerHTML.slice(0, 200)),
  handlers: [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter(
    (a) => a.name.startsWith('on') || /href|src|action|data$/.test(a.name) && /^\\s*javascript:/i.test(a.value))
    .map((a) => a.name + '=' + a.value.slice(0, 100)),
})"""
ROOT = "`${document.documentElement.tagName} ${document.querySelectorAll('script, foreignObject').length}`"
NOTHING = {"ran": "", "tags": [], "handlers": []}


def drawn(label: str) -> Chart:
    """A chart with the label wherever a chart has room for words."""
    axis = Axis(label, ticks=((0.0, label), (1.0, "1")))
    return Chart(
        label, label, axis, axis, (Stroke((0, 1), (0, 1), label, "quiet"), Stroke((0, 1), (1, 0), label)),
        dots=(Dots((0.5,), (0.5,), name=label),), detail=label, texts=(Caption(0.1, 0.1, label),),
        tips=(Tips((0.5,), (0.5,), ((label, (label,)),)),),
    )  # fmt: skip


def cases() -> dict[str, Any]:
    """A table in which everything that a person may name is a hostile label."""
    rng = np.random.default_rng(0)
    truth = [LABELS[at] for at in rng.integers(0, 2, 60)]
    return {
        "truth": truth,
        "score": np.where(np.array(truth) == LABELS[1], 0.7, 0.4) + rng.uniform(-0.3, 0.3, 60),
        LABELS[2]: [LABELS[3 + at % 15] for at in range(60)],
    }


def documents() -> dict[str, Callable[[Path], Path]]:
    """Every kind of page, each a function that writes it to a folder."""
    shuffled = LABELS[1:] + LABELS[:1]
    two = heldout.evaluate(cases(), truth="truth", score="score", positive=LABELS[1], slices=[LABELS[2]], replicates=20)
    many = heldout.evaluate(LABELS * 2, LABELS + shuffled, measures=["accuracy", "macro recall"])
    pair = heldout.compare(two, two, names=LABELS[5:7], measures=["accuracy"])
    gate = heldout.check(two, require=["accuracy >= 0.1"])
    curve = two.curve("roc")
    decision = heldout.choose_threshold(cases(), truth="truth", score="score", positive=LABELS[1], by="accuracy")
    table = {label: [0.1 + at / 9, 0.2, 0.3, 0.5] for at, label in enumerate(LABELS[8:11])}
    ranks = heldout.compare(table, splits=False)
    return {
        "two classes": lambda to: two.write(to / "two.html"),
        "every label": lambda to: many.write(to / "many.html"),
        "comparison": lambda to: pair.write(to / "pair.html"),
        "gate": lambda to: gate.write(to / "gate.html"),
        "curve": lambda to: curve.write(to / "curve.html"),
        "ranks": lambda to: ranks.write(to / "ranks.html"),
        "hardest": lambda to: two.hardest(5).write(to / "hardest.html"),
        "decision": lambda to: decision.write(to / "decision.html"),
        "chart": lambda to: curve.write(to / "chart.html", curve.kind),
    }


@pytest.fixture(scope="module")
def watched(browser) -> Iterator[Watched]:
    """One page for all; whatever is asked of the network is noticed."""
    opened = Watched(browser)
    yield opened
    opened.context.close()


def put(page: Any, text: str) -> None:
    """Show a text in a page that has no policy yet."""
    page.goto("about:blank")
    page.set_content(text)


def test_there_are_about_two_hundred_labels():
    assert len(set(LABELS)) == len(LABELS) > 200


def test_every_page_forbids_what_it_does_not_need_and_runs_nothing(watched, tmp_path):
    for kind, write in documents().items():
        file = write(tmp_path)
        text = file.read_text(encoding="utf-8")
        (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
        assert policy.replace("&#39;", "'").startswith("default-src 'none'; "), kind
        assert "unsafe" not in policy
        watched.page.goto(file.as_uri())
        assert watched.page.evaluate(LOOK) == NOTHING, kind
        # The same without the policy: what is escaped needs none.
        put(watched.page, text.replace(policy, ""))
        assert watched.page.evaluate(LOOK) == NOTHING, kind
    assert [url for url in watched.requests if not url.startswith(("file:", "data:", "about:"))] == []
    assert [said for said in watched.errors if "Content-Security" not in said] == []


def test_charts_run_nothing_as_page_picture_and_fragment(watched, tmp_path):
    file = save_chart(drawn(LABELS[0]), tmp_path / "one.html")
    watched.page.goto(file.as_uri())
    # The policy lets the drawing's own style in: without, letters would be black.
    assert watched.page.evaluate("getComputedStyle(document.querySelector('text')).fill") == "rgb(34, 34, 34)"
    put(watched.page, "".join(figure_svg(drawn(label), tips=True) for label in LABELS))
    assert watched.page.locator("body > svg").count() == len(LABELS)
    assert watched.page.evaluate(LOOK) == NOTHING
    picture = tmp_path / "one.svg"
    for label in LABELS[::20]:
        save_chart(drawn(label), picture)
        watched.page.goto(picture.as_uri())
        assert watched.page.evaluate(ROOT) == "svg 0"
        assert watched.page.evaluate("typeof window.ran") == "undefined"


def test_what_altair_writes_of_a_chart_runs_nothing(watched):
    from heldout.show.altair import altair_chart

    for label in LABELS[::29]:
        page = altair_chart(drawn(label)).to_html(base_url="data:")
        put(watched.page, page)
        assert watched.page.evaluate("typeof window.ran") == "undefined", label
        assert watched.page.locator("img, iframe, base, details").count() == 0
        assert page.lower().count("</script") == page.lower().count("<script")


def test_fragments_of_notebooks_run_nothing(watched):
    two = heldout.evaluate(cases(), truth="truth", score="score", positive=LABELS[1], slices=[LABELS[2]], replicates=20)
    many = heldout.evaluate(LABELS, LABELS[1:] + LABELS[:1], measures=["recall"])
    put(watched.page, "".join(each._repr_html_() for each in (two, many, two.curve("roc"))))
    assert watched.page.locator(".heldout-doc").count() == 3
    assert watched.page.evaluate(LOOK) | {"tags": []} == NOTHING
    assert watched.page.locator("img, iframe, base, script").count() == 0
