// The explorer: one slider that moves every number, the matrix and the mark on each curve together.

const SVG = "http://www.w3.org/2000/svg";
const [BAR_WIDTH, BAR_HEIGHT, BAR_INSET] = [150, 16, 5];
const SHADES = 20;
// What each row of figures can say of how it was made.
const HERE = new WeakMap();

class Explorer {
  constructor(root) {
    this.root = root;
    this.charts = [];
    const given = JSON.parse(root.querySelector("script[data-payload]").textContent);
    this.given = given;
    this.positions = given.positions.map(numeric);
    this.columns = given.columns.map(([name, values]) => [name, values.map(numeric)]);
    this.knobs = given.knobs.map(([name, value, low, high]) => ({
      name, start: numeric(value), value: numeric(value), low: numeric(low), high: numeric(high),
    }));
    this.at = given.start;
    this.way = "count";
    this.figures = this.foundFigures();
    this.cells = [...root.querySelectorAll("[data-cell]")];
    this.slider = root.querySelector("[data-slider]");
    this.typed = root.querySelector("[data-typed]");
    this.told = root.querySelector("[data-told]");
    this.live = root.querySelector("[data-live]");
    this.outside = root.querySelector("[data-outside]");
    this.stands = root.querySelector("[data-stands]");
    root.querySelector("[data-began]").textContent = this.shownPosition();
    this.listen();
    root.querySelector("[data-still]").hidden = true;
    root.querySelectorAll("form[hidden]").forEach((form) => { form.hidden = false; });
    // A browser that comes back to the page may have kept the slider where it was.
    this.slider.value = String(this.at);
    root.querySelectorAll("[data-knob]").forEach((field) => { field.value = field.defaultValue; });
    const first = root.querySelector("[data-way]");
    if (first) first.checked = true;
  }

  foundFigures() {
    const rows = [...this.root.querySelectorAll("tr[data-name]")];
    const derived = new Map(this.given.derived);
    return this.given.figures.map((figure, at) => {
      const needs = leansOn(figure.formula);
      // What is derived leans on names in its turn; a set that grows while it is walked reaches them all.
      for (const name of needs) if (derived.has(name)) leansOn(derived.get(name), needs);
      const made = { ...figure, low: figure.low.map(numeric), high: figure.high.map(numeric), needs, row: rows[at] };
      HERE.set(rows[at], () => this.made(made));
      return made;
    });
  }

  // How a figure was made where the slider stands: a heading and facts.
  made(figure) {
    const names = this.names();
    const word = (name) => {
      if (name === "position") return this.shownPosition();
      const value = names.get(name);
      return value < 0 ? `(${written(value, "count")})` : written(value, "count");
    };
    const { value, low, high } = figure.row.dataset;
    const facts = [["numbers put in", worded(figure.formula, word)], ["value", figure.row.querySelector("[data-text]").textContent]];
    const limits = writtenLimits(Number(low), Number(high), figure.style);
    if (limits && !Number.isNaN(Number(value))) facts.push(["interval", limits], ["made by", this.method(figure)]);
    else if (figure.low.length && !Number.isNaN(Number(value))) facts.push(["interval", "not shown, as it holds for the cases as they are"]);
    return [`${this.root.getAttribute("aria-label")} ${this.shownPosition()}`, facts];
  }

  method(figure) {
    return figure.methods[figure.used.length ? figure.used[this.at] : 0];
  }

  listen() {
    this.root.querySelectorAll("form").forEach((form) => form.addEventListener("submit", (event) => event.preventDefault()));
    this.slider.addEventListener("input", () => this.moveTo(Number(this.slider.value)));
    this.slider.addEventListener("keydown", (event) => {
      const step = { PageUp: 10, PageDown: -10 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.moveTo(this.at + step);
    });
    this.typed.addEventListener("change", () => this.type());
    this.root.querySelectorAll("[data-jump]").forEach((button) => {
      button.addEventListener("click", () => this.moveTo(Number(button.dataset.jump)));
    });
    this.root.querySelectorAll("[data-knob]").forEach((field) => {
      field.addEventListener("input", () => this.turn(field));
    });
    this.root.querySelector("[data-reset]")?.addEventListener("click", () => this.reset());
    this.root.querySelectorAll("[data-way]").forEach((radio) => {
      radio.addEventListener("change", () => { this.way = radio.value; this.show(); });
    });
  }

  moveTo(at, told = "") {
    this.at = Math.min(Math.max(at, 0), this.positions.length - 1);
    this.slider.value = String(this.at);
    this.typed.value = this.shownPosition();
    this.typed.removeAttribute("aria-invalid");
    this.tell(told);
    this.show();
  }

  // Where the slider and the knobs stand, for paper, which shows none of them.
  standing() {
    const knobs = [...this.root.querySelectorAll("[data-knob]")].map((field) => {
      return `${field.labels[0].textContent} ${written(this.knobs[Number(field.dataset.knob)].value, "plain")}`;
    });
    return `${[`${this.root.getAttribute("aria-label")} ${this.shownPosition()}`, ...knobs].join(" · ")}.`;
  }

  // The smallest kept position at or above what was typed: cases score at least it exactly where they score at least this.
  type() {
    const wanted = typed(this.typed.value);
    if (Number.isNaN(wanted)) {
      this.typed.setAttribute("aria-invalid", "true");
      this.tell(`"${this.typed.value}" is not a number.`);
      return;
    }
    let at = this.positions.findIndex((position) => position >= wanted);
    const beyond = at < 0;
    if (beyond) at = this.positions.length - 1;
    const text = this.typed.value.trim();
    const here = this.positions[at];
    let told = "";
    if (beyond) told = `${text} is above the highest; this is ${here}.`;
    else if (here !== wanted && this.given.leftOut && at) {
      told = `${text} is not among the kept positions (${written(this.given.leftOut, "count")} are left out); this is the nearest kept at or above it, ${here}.`;
    } else if (here !== wanted) told = `The same as at ${here}, the next score.`;
    this.moveTo(at, told);
    if (!beyond && (!this.given.leftOut || !at)) this.typed.value = text;
  }

  // What is said of the slider, and after it what is wrong in any field.
  tell(text) {
    const said = [text, ...this.knobs.map((knob) => knob.wrong)].filter(Boolean).join(" ");
    this.told.textContent = said;
    this.told.hidden = !said;
  }

  turn(field) {
    const knob = this.knobs[Number(field.dataset.knob)];
    // The field may show fewer digits than the number that it began with has.
    const value = field.value === field.defaultValue ? knob.start : typed(field.value);
    const fits = value >= knob.low && value <= knob.high;
    const most = Number.isFinite(knob.high) ? ` and at most ${knob.high}` : "";
    const about = `${field.labels[0].textContent}: a number of at least ${knob.low}${most} is needed`;
    this.fault(field, fits ? "" : `${about}; the figures stay as they were.`);
    this.tell("");
    if (!fits) return;
    knob.value = value;
    this.show();
  }

  fault(field, text) {
    this.knobs[Number(field.dataset.knob)].wrong = text;
    const ids = (field.getAttribute("aria-describedby") || "").split(" ").filter((id) => id && id !== this.told.id);
    if (text) {
      field.setAttribute("aria-invalid", "true");
      ids.push(this.told.id);
    } else field.removeAttribute("aria-invalid");
    field.setAttribute("aria-describedby", ids.join(" "));
  }

  reset() {
    this.root.querySelectorAll("[data-knob]").forEach((field) => {
      field.value = field.defaultValue;
      this.fault(field, "");
    });
    this.knobs.forEach((knob) => { knob.value = knob.start; });
    this.moveTo(this.given.start);
  }

  // With every position kept, the fewest digits that make the same cut; otherwise all of them.
  shownPosition() {
    const here = this.positions[this.at];
    if (!Number.isFinite(here)) return here > 0 ? "∞" : "-∞";
    if (this.given.leftOut || this.at === 0) return String(here);
    const before = this.positions[this.at - 1];
    for (let digits = 0; digits <= 17; digits += 1) {
      const scale = 10 ** digits;
      const short = Math.floor(here * scale) / scale;
      if (short > before && short <= here) return String(short);
    }
    return String(here);
  }

  names() {
    const names = new Map([["Infinity", Infinity], ["-Infinity", -Infinity], ["position", this.positions[this.at]]]);
    this.given.constants.forEach(([name, value]) => names.set(name, numeric(value)));
    this.columns.forEach(([name, values]) => names.set(name, values[this.at]));
    this.knobs.forEach((knob) => names.set(knob.name, knob.value));
    this.given.derived.forEach(([name, formula]) => names.set(name, evaluated(formula, names)));
    return names;
  }

  show() {
    const names = this.names();
    const moved = new Set(this.knobs.filter((knob) => knob.value !== knob.start).map((knob) => knob.name));
    const altered = this.given.alters.some((name) => moved.has(name));
    const changed = this.root.querySelector("[data-changed]");
    if (changed) changed.hidden = !altered;
    this.outside.hidden = this.at === this.given.start && !moved.size;
    this.stands.textContent = this.standing();
    this.figures.forEach((figure) => {
      const free = !altered && ![...moved].some((name) => figure.needs.has(name));
      this.showFigure(figure, evaluated(figure.formula, names), free);
    });
    this.showMatrix(names);
    this.overview?.show(this);
    this.charts.forEach((chart) => chart.mark(names));
    this.slider.setAttribute("aria-valuetext", this.shownPosition());
    this.speak();
  }

  showFigure(figure, value, free) {
    const low = free && figure.low.length ? figure.low[this.at] : NaN;
    const high = free && figure.high.length ? figure.high[this.at] : NaN;
    const { row } = figure;
    Object.assign(row.dataset, { value: String(value), low: String(low), high: String(high) });
    const reason = Number.isNaN(value) && row.dataset.undefined ? ` (${row.dataset.undefined})` : "";
    row.querySelector("[data-text]").textContent = written(value, figure.style) + reason;
    const limits = row.querySelector('[data-part="limits"]');
    if (!limits) return;
    limits.textContent = Number.isNaN(value) ? "" : writtenLimits(low, high, figure.style);
    if (figure.used.length) limits.title = this.method(figure);
    const bar = row.querySelector(".heldout-bar");
    if (bar) drawBar(bar, value, low, high);
  }

  showMatrix(names) {
    const counts = this.given.matrix.map((row) => row.map((formula) => evaluated(formula, names)));
    const rows = counts.map((row) => row.reduce((a, b) => a + b, 0));
    const columns = (counts[0] || []).map((_, j) => counts.reduce((sum, row) => sum + row[j], 0));
    this.cells.forEach((cell) => {
      const [i, j] = cell.dataset.cell.split(",").map(Number);
      const value = counts[i][j];
      const share = rows[i] > 0 ? value / rows[i] : NaN;
      const shown = { count: value, row: share, column: columns[j] > 0 ? value / columns[j] : NaN }[this.way];
      cell.dataset.value = String(value);
      cell.textContent = this.way === "count" ? written(value, "count") : percentage(shown);
      const shade = this.way === "column" ? shown : share;
      const step = shade > 0 ? Math.max(halfEven(Math.min(shade, 1) * SHADES), 1) : 0;
      cell.className = `heldout-figure heldout-right${step ? ` heldout-heat-${step}` : ""}`;
    });
  }

  // What is said aloud, once the slider rests.
  speak() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      const parts = this.figures.slice(0, 4).map(({ row }) => {
        return `${row.querySelector("th").textContent} ${row.querySelector("[data-text]").textContent}`;
      });
      this.live.textContent = `${this.root.getAttribute("aria-label")} ${this.shownPosition()}: ${parts.join(", ")}`;
    }, 400);
  }
}

function percentage(share) {
  if (Number.isNaN(share)) return UNDEFINED;
  const [text, almost] = bounded(share * 100, 1, 100);
  return `${almost}${text} %`;
}

function drawBar(bar, value, low, high) {
  const middle = BAR_HEIGHT / 2;
  const along = (at) => BAR_INSET + Math.min(Math.max(at, 0), 1) * (BAR_WIDTH - 2 * BAR_INSET);
  const parts = [line(0, middle, BAR_WIDTH, middle, "track")];
  if (!Number.isNaN(value)) {
    if (!Number.isNaN(low) && !Number.isNaN(high)) {
      parts.push(line(along(low), middle, along(high), middle, "reach"));
      const ends = [...(low >= 0 ? [low] : []), ...(high <= 1 ? [high] : [])];
      ends.forEach((end) => parts.push(line(along(end), middle - 4, along(end), middle + 4, "reach")));
    }
    if (value >= 0 && value <= 1) parts.push(drawn("circle", { cx: along(value).toFixed(1), cy: middle, r: 3 }));
  }
  bar.replaceChildren(...parts);
  bar.setAttribute("aria-label", writtenLimits(low, high, "share") || UNDEFINED);
}

function line(x1, y1, x2, y2, name) {
  return drawn("line", { class: `heldout-${name}`, x1: x1.toFixed(1), y1, x2: x2.toFixed(1), y2 });
}

function drawn(kind, attributes) {
  const made = document.createElementNS(SVG, kind);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, String(value)));
  return made;
}

// A first screen, whose figures and matrix follow the explorer after it.
class Overview {
  constructor(root) {
    this.root = root;
    this.moved = root.querySelector("[data-moved]");
    this.rows = [...root.querySelectorAll("tbody tr")].filter((row) => row.querySelector("a.heldout-how"));
    this.cells = [...root.querySelectorAll("[data-small]")];
  }

  show(explorer) {
    const away = !explorer.outside.hidden;
    this.moved.hidden = !away;
    const name = explorer.root.getAttribute("aria-label").toLowerCase();
    this.moved.textContent = away ? `Moved to ${name} ${explorer.shownPosition()}; the verdict is of the report as it was written.` : "";
    this.rows.forEach((row) => this.follow(row, explorer));
    this.cells.forEach((cell) => {
      const [i, j] = cell.dataset.small.split(",");
      const from = explorer.root.querySelector(`[data-cell="${i},${j}"]`);
      if (!from) return;
      const value = Number(from.dataset.value);
      const total = [...explorer.root.querySelectorAll(`[data-cell^="${i},"]`)].reduce((sum, one) => sum + Number(one.dataset.value), 0);
      const share = total > 0 ? value / total : NaN;
      cell.querySelector("span").textContent = written(value, "count");
      cell.querySelector("small").textContent = written(share, "percent");
      const step = share > 0 ? Math.max(halfEven(Math.sqrt(share) * SHADES), 1) : 0;
      cell.className = `heldout-figure${step ? ` heldout-heat-${step}${i === j ? "" : " heldout-wrong"}` : ""}`;
    });
  }

  // A row takes the words of the explorer's row that leads to the same explanation; as it was written, its own again.
  follow(row, explorer) {
    const link = row.querySelector("a.heldout-how");
    const figure = explorer.figures.find((one) => one.row.querySelector("a.heldout-how")?.hash === link.hash);
    if (!figure) return;
    const [limits, bar] = [row.cells[2], row.querySelector(".heldout-bar")];
    row.own ??= [link.textContent, limits.textContent];
    const away = !explorer.outside.hidden;
    const { value, low, high } = figure.row.dataset;
    link.textContent = away ? written(Number(value), figure.style) : row.own[0];
    limits.textContent = away ? writtenLimits(Number(low), Number(high), figure.style) : row.own[1];
    if (bar) drawBar(bar, Number(value), Number(low), Number(high));
  }
}

// A chart whose mark moves.
class Marked {
  constructor(root) {
    const given = JSON.parse(root.dataset.moves);
    this.plot = given.plot.map(numeric);
    this.moves = given.moves;
    this.dot = root.querySelector(".heldout-mark");
  }

  mark(names) {
    const [x, y] = this.moves.map((formula) => evaluated(formula, names));
    Object.assign(this.dot.dataset, { x: String(x), y: String(y) });
    const seen = Number.isFinite(x) && Number.isFinite(y);
    this.dot.setAttribute("visibility", seen ? "visible" : "hidden");
    if (!seen) return;
    const [left, top, width, height, xLow, xHigh, yLow, yHigh] = this.plot;
    const across = left + clamped((x - xLow) / (xHigh - xLow)) * width;
    const down = top + (1 - clamped((y - yLow) / (yHigh - yLow))) * height;
    this.dot.setAttribute("transform", `translate(${across.toFixed(2)} ${down.toFixed(2)})`);
  }
}

// A mark beyond the axes stands at their edge.
function clamped(share) {
  return Math.min(Math.max(share, 0), 1);
}

// Each explorer moves the charts that follow it, the first one also those before it.
function explore() {
  const found = [...document.querySelectorAll("[data-explorer], [data-moves], [data-overview]")];
  const first = found.find((element) => "explorer" in element.dataset);
  if (!first) return;
  const explorers = new Map(found.filter((e) => "explorer" in e.dataset).map((e) => [e, new Explorer(e)]));
  let now = explorers.get(first);
  let overview = null;
  found.forEach((element) => {
    if ("overview" in element.dataset) overview = new Overview(element);
    else if (explorers.has(element)) {
      now = explorers.get(element);
      // The nearest before it is of the same answer.
      now.overview = overview;
      overview = null;
    } else now.charts.push(new Marked(element));
  });
  explorers.forEach((explorer) => explorer.moveTo(explorer.at));
}

explore();
