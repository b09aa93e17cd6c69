"""The page in a real browser: it asks for nothing, runs nothing it was given, and everybody can read it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page, expect
from tests.browsing import PHONE, Watched, everywhere_readable, opened, slid, violations
from tests.show.sample_page import explorer, sample_page

from heldout.show.blocks import Block, Column, Facts, Note, Number, Prose, Section, Table, Title, Verbatim
from heldout.show.chart import Axis, Chart, Dots, Stroke
from heldout.show.escape import visible
from heldout.show.explorer import Explorer, Knob, Moving

HOSTILE = (
    "<script>window.hurt = 1</script>",
    "</script><script>window.hurt = 1</script>",
    "<!--<script>",
    '"><img src=x onerror="window.hurt=1">',
    "' onmouseover='window.hurt=1",
    '"; DROP TABLE cases; --',
    "=cmd()|'/c calc'!A1",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.hurt=1",
    "&lt;b&gt;&amp;",
    "שלום עולם \u202eevil",
    "👩\u200d🔬 🎉 \u2028 \u0000 \ud800",
    "x" * 10_000,
)


def hostile_page() -> list[Block]:
    """Every place where a user's text can stand, with every text that could hurt."""
    made: list[Block] = [Title("".join(HOSTILE[:4]), HOSTILE[1])]
    for at, text in enumerate(HOSTILE):
        moved = Explorer(
            text,
            (0.1, 0.2),
            0,
            (("a", (1, 2)),),
            (),
            knobs=(Knob("k", text, 1.0, detail=text),),
            figures=(Moving(text, text, "a", (0.5, 0.5), (1.0, 1.0), text, how=text, undefined=text),),
            rows=(text,),
            headers=(text,),
            matrix=(("a",),),
            changed=text,
            alters=("k",),
            marks=((text, 1),),
            detail=text,
        )
        chart = Chart(
            text,
            text,
            Axis(text, 0, 1, ((0.5, text),)),
            Axis(text),
            (Stroke((0, 1), (0, 1), text),),
            dots=(Dots((0.5,), (0.5,), name=text),),
            detail=text,
            moves=("a", 0.5),
            headers=(text,),
            points=((0.5,),),
        )
        table = Table((Column(text), Column(text)), ((text, Number(0.5, how=text)), (text, text)), text)
        blocks = (Prose(text, text), Note(text, "warning", text), Facts(((text, text),)), table, Verbatim(text))
        made.append(Section(text, (*blocks, moved, chart), text, folded=bool(at % 2)))
    return made


def test_hostile_text_is_shown_and_never_run(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, hostile_page(), title=HOSTILE[0])
    assert page.evaluate("window.hurt") is None
    assert page.title() == HOSTILE[0]
    assert page.locator("script").count() == 1 + len(HOSTILE)
    assert page.locator("main img, main iframe, [onerror], [onmouseover]").count() == 0
    for at, text in enumerate(HOSTILE):
        folds = page.locator("main > details, main > section")
        shown = folds.nth(at).locator("pre").evaluate("e => e.textContent")
        assert shown == visible(text)
    # Every control is used, so that text which waits in attributes or data would get its turn.
    page.evaluate("""() => {
      document.querySelectorAll('details').forEach(fold => { fold.open = true; });
      document.querySelectorAll('[data-slider]').forEach(e => { e.value = 1; e.dispatchEvent(new Event('input')); });
      document.querySelectorAll('[data-knob]').forEach(e => { e.value = 2; e.dispatchEvent(new Event('input')); });
      document.querySelectorAll('[data-typed]').forEach(e => { e.value = '<'; e.dispatchEvent(new Event('change')); });
      document.querySelectorAll('main a.heldout-how, main button').forEach(e => e.click());
    }""")
    assert page.locator("dialog a.heldout-how").count() > 0
    page.wait_for_timeout(450)
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_right_to_left_text_keeps_to_itself(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, [Table((Column("class"), Column("n", "right")), (("שלום", 3), ("plain", 4)))])
    first, second = page.locator("tbody th").all()
    assert first.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert second.evaluate("e => getComputedStyle(e).direction") == "ltr"
    assert page.locator("tbody td").first.evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_the_policy_of_the_page_forbids_everything_but_itself(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser)
    opened(watched.page, tmp_path, sample_page())
    found = watched.page.evaluate("""async () => {
      const broken = [];
      document.addEventListener('securitypolicyviolation', event => broken.push(event.effectiveDirective));
      document.body.insertAdjacentHTML('beforeend', '<img src="http://127.0.0.1:9/x.png"><b style="color:red">b</b>');
      const script = document.createElement('script');
      script.textContent = 'window.hurt = 1';
      document.body.append(script);
      try { await fetch('http://127.0.0.1:9/'); } catch { /* refused */ }
      await new Promise(done => setTimeout(done, 200));
      return [broken.sort(), window.hurt ?? null];
    }""")
    assert found == [["connect-src", "img-src", "script-src-elem", "style-src-attr"], None]
    # What the policy refused was asked for here, by this test, and told on the console.
    watched.requests.clear()
    watched.errors.clear()
    watched.close()


def test_everybody_can_read_it(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, sample_page())
    page.get_by_label("Prevalence").fill("0.9")
    page.get_by_label("Cost of a miss").fill("-1")
    everywhere_readable(page)
    page.locator("main a.heldout-how").first.click()
    assert violations(page, "dialog") == []


def test_headings_and_landmarks_are_in_order(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, [*sample_page(), Title("another"), Section("s", (Title("t"), Section("u", (Prose("x"),))))])
    levels = page.eval_on_selector_all("main :is(h1,h2,h3,h4,h5,h6)", "all => all.map(e => Number(e.tagName[1]))")
    assert all(after <= before + 1 for before, after in zip([1, *levels], levels, strict=False))
    assert [page.locator(name).count() for name in ("h1", "main", "header", "nav")] == [1, 1, 1, 1]
    assert page.eval_on_selector_all("[id]", "all => new Set(all.map(e => e.id)).size === all.length")
    contents = page.locator("nav a").all_inner_texts()
    assert contents[:3] == ["Findings", "Threshold", "Curves"]


def test_the_slider_answers_to_keys(page: Page, tmp_path: Path) -> None:
    moved = explorer()
    opened(page, tmp_path, [Title("t"), moved])
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the report")).to_be_focused()
    assert page.get_by_role("link", name="Skip to the report").bounding_box()["y"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    slider = page.get_by_role("slider")
    expect(slider).to_be_focused()
    assert slider.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    at = moved.start
    for key, change in (("ArrowRight", 1), ("ArrowUp", 1), ("ArrowLeft", -1), ("PageUp", 10), ("PageDown", -10)):
        page.keyboard.press(key)
        at += change
        assert slider.input_value() == str(at)
    page.keyboard.press("Home")
    assert slider.input_value() == "0"
    page.keyboard.press("PageDown")
    assert slider.input_value() == "0"
    page.keyboard.press("End")
    assert slider.input_value() == str(len(moved.positions) - 1)
    page.get_by_role("button", name="cheapest").press("Enter")
    assert slider.input_value() == str(dict(moved.marks)["cheapest"])
    said = page.locator("[data-live]")
    expect(said).to_contain_text("recall")
    assert slider.get_attribute("aria-valuetext") == page.get_by_label("Threshold, typed").input_value()


def test_a_number_opens_how_it_was_made_and_focus_comes_back(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, sample_page())
    link = page.locator("tr[data-name=recall] a")
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="recall")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("tp / (tp + fn)")
    assert page.eval_on_selector_all("[id]", "all => new Set(all.map(e => e.id)).size === all.length")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(link).to_be_focused()
    link.click()
    page.get_by_role("button", name="Close").click()
    expect(page.locator("dialog")).to_be_hidden()


def test_without_javascript_everything_is_there_and_links_open_what_is_folded(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser, java_script_enabled=False)
    page = opened(watched.page, tmp_path, sample_page())
    moved = explorer()
    assert page.locator("[data-slider]").is_hidden()
    assert page.get_by_text("With JavaScript allowed").is_visible()
    assert page.locator("tr[data-name=recall]").is_visible()
    assert page.locator("tr[data-name]").count() == len(moved.figures)
    assert page.locator(".heldout-mark").count() == 2
    assert page.get_by_text("tp / (tp + fn)").is_hidden()
    page.locator("tr[data-name=recall] a").click()
    assert page.url.endswith("#how-recall")
    assert page.get_by_text("tp / (tp + fn)").is_visible()
    watched.close()


def test_on_paper_folds_are_open_and_controls_are_gone(page: Page, tmp_path: Path) -> None:
    wide = Table(tuple(Column(f"column {at}") for at in range(30)), (tuple(Number(0.5) for _ in range(30)),))
    opened(page, tmp_path, [*sample_page(), wide])
    slid(page, 3)
    page.get_by_label("Cost of a miss").fill("7")
    shown = page.get_by_label("Threshold, typed").input_value()
    assert page.get_by_text("beats the commonest class").is_hidden()
    page.set_viewport_size({"width": 680, "height": 1000})  # A4 between usual margins
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == 680
    assert f"Threshold {shown} · Prevalence" in page.locator("[data-stands]").inner_text()
    assert "Cost of a miss 7" in page.locator("[data-stands]").inner_text()
    assert page.locator("[data-slider]").is_hidden()
    assert page.locator("nav").is_hidden()
    assert page.locator("tr[data-name=recall]").is_visible()
    assert page.get_by_text("beats the commonest class").is_visible()
    # What explains numbers one by one stays on the screen.
    assert page.get_by_text("How each number was made").first.is_hidden()
    assert page.locator(".heldout-points:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(30, 36, 41)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    assert page.locator("[data-stands]").is_visible()
    page.emulate_media(media="screen")
    assert page.locator("[data-stands]").is_hidden()
    assert len(page.pdf()) > 10_000


def test_wide_tables_scroll_in_a_region_of_their_own(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser, viewport=PHONE)
    wide = Table(tuple(Column(f"column {at}") for at in range(14)), (("name", *(Number(0.5) for _ in range(13))),))
    narrow = Table((Column("a"),), ((1,),))
    page = opened(watched.page, tmp_path, [wide, narrow])
    expect(page.locator(".heldout-scroll").nth(1)).not_to_have_attribute("tabindex", "0")
    assert "heldout-pinned" not in (page.locator(".heldout-scroll").nth(1).get_attribute("class") or "")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    region = page.locator(".heldout-scroll").first
    region.focus()
    page.keyboard.press("ArrowRight")
    # Asked again and again from here: the page forbids the eval by which the browser would wait itself.
    moved = "document.querySelector('.heldout-scroll').scrollLeft > 0"
    for _ in range(100):
        if page.evaluate(moved):
            break
        page.wait_for_timeout(100)
    assert page.evaluate(moved)
    # The name of the row stays where it can be read.
    assert region.locator("tbody th").evaluate("e => e.getBoundingClientRect().left >= 0")
    assert region.locator("tbody td").first.evaluate("e => e.getBoundingClientRect().left") < 100
    watched.close()


def test_long_tables_are_folded_but_whole(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, [Table((Column("row"), Column("n", "right")), tuple((f"r{at}", at) for at in range(450)))])
    assert page.locator("tbody tr").count() == 450
    assert page.locator("tbody th", has_text="r99").is_visible()
    assert page.locator("tbody th", has_text="r449").is_hidden()
    page.get_by_text("The other 350 of 450 rows").click()
    assert page.locator("tbody th", has_text="r449").is_visible()


def test_an_address_that_cannot_be_read_breaks_nothing_and_the_contents_follow(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, sample_page())
    page.goto(f"{page.url}#%E0%A4%A")
    page.locator("nav a", has_text="Provenance").click()
    expect(page.locator("nav a[aria-current]")).to_have_text("Provenance")
    page.locator("tr[data-name=recall] a").click()
    expect(page.get_by_role("dialog", name="recall")).to_be_visible()
