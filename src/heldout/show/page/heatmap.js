// The heat map of a confusion matrix: drawn as wide as there is room or as the reader zooms, in the order that is asked for.

const [LEAST_CELL, MOST_CELL, LEAST_LETTERS, MOST_LETTERS] = [2, 30, 8, 12];
const LABEL_LETTERS = 16;

class Heatmap {
  constructor(root) {
    this.root = root;
    const given = JSON.parse(root.querySelector("script[data-map]").textContent);
    this.labels = given.labels;
    this.cells = given.cells.map(([i, j, value]) => [i, j, numeric(value)]);
    this.totals = this.labels.map(() => 0);
    this.cells.forEach(([i, , value]) => { this.totals[i] += value; });
    this.counts = new Map(this.cells.map(([i, j, value]) => [i * this.labels.length + j, value]));
    this.orders = given.orders.length ? given.orders : [this.labels.map((_, at) => at)];
    this.order = this.orders[0];
    this.zoom = 0;
    this.at = [0, 0];
    this.frame = root.querySelector("[data-frame]");
    this.pointed = root.querySelector("[data-pointed]");
    this.rest = this.pointed.textContent;
    this.spoken = root.querySelector("[data-spoken]");
    this.listen();
    root.querySelectorAll("form[hidden]").forEach((form) => { form.hidden = false; });
    const first = root.querySelector("[data-order]");
    if (first) first.checked = true;
    this.draw();
    if (window.ResizeObserver) new ResizeObserver(() => { if (this.frame.clientWidth !== this.drawnFor) requestAnimationFrame(() => this.draw()); }).observe(this.frame);
  }

  listen() {
    this.root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    this.root.querySelectorAll("[data-order]").forEach((radio) => {
      radio.addEventListener("change", () => { this.order = this.orders[Number(radio.value)]; this.draw(); });
    });
    this.root.querySelectorAll("[data-zoom]").forEach((button) => {
      button.addEventListener("click", () => {
        const step = Number(button.dataset.zoom);
        this.zoom = step ? Math.min(Math.max(this.zoom + step, 0), 8) : 0;
        this.draw();
      });
    });
    this.frame.addEventListener("pointermove", (event) => this.point(event));
    this.frame.addEventListener("pointerdown", (event) => this.point(event));
    this.frame.addEventListener("pointerleave", () => { if (document.activeElement !== this.frame) this.leave(); });
    this.frame.addEventListener("focus", () => { if (this.frame.matches(":focus-visible")) this.go(...this.at); });
    this.frame.addEventListener("blur", () => this.leave());
    this.frame.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const last = this.labels.length - 1;
      this.go(...this.at.map((place, axis) => Math.min(Math.max(place + step[axis], 0), last)));
      this.speak();
    });
  }

  // The largest cells with which everything fits; zooming makes them half as large again each time.
  measure() {
    const k = this.labels.length;
    this.drawnFor = this.frame.clientWidth;
    const roomFor = (letters) => Math.max(...this.labels.map((label) => Math.min(label.length, LABEL_LETTERS))) * letters * 0.56 + 22;
    const fit = (room) => (Math.min(this.drawnFor, innerHeight * 0.8) - room - 2) / k;
    let cell = Math.min(fit(roomFor(Math.min(Math.max(fit(roomFor(10)), LEAST_LETTERS), MOST_LETTERS))), MOST_CELL);
    if (cell < LEAST_LETTERS) cell = Math.max(fit(22), LEAST_CELL);
    cell *= 1.5 ** this.zoom;
    const letters = Math.min(cell * 0.95, MOST_LETTERS);
    const labelled = cell >= LEAST_LETTERS;
    return { cell, letters, labelled, room: labelled ? roomFor(letters) : 22 };
  }

  draw() {
    if (!this.frame.clientWidth) return;
    const k = this.labels.length;
    const { cell, letters, labelled, room } = this.measure();
    Object.assign(this, { cell, room });
    const size = room + k * cell + 2;
    const places = new Array(k);
    this.order.forEach((label, place) => { places[label] = place; });
    const paths = new Map();
    this.cells.forEach(([i, j, value]) => {
      const step = Math.max(halfEven(Math.sqrt(value / this.totals[i]) * SHADES), 1);
      const shade = `heldout-heat-${step}${i === j ? "" : " heldout-wrong"}`;
      if (!paths.has(shade)) paths.set(shade, []);
      paths.get(shade).push(`M${places[j]} ${places[i]}h1v1h-1z`);
    });
    const svg = drawn("svg", { class: "heldout-map", "aria-hidden": "true", viewBox: `0 0 ${size} ${size}`, width: size, height: size });
    const grid = drawn("g", { transform: `translate(${room} ${room}) scale(${cell})` });
    grid.append(drawn("path", { class: "heldout-ground", d: `M0 0h${k}v${k}h-${k}z` }));
    paths.forEach((parts, shade) => grid.append(drawn("path", { class: shade, d: parts.join("") })));
    this.cursor = drawn("path", { class: "heldout-cursor", visibility: "hidden" });
    grid.append(this.cursor);
    svg.append(grid);
    if (labelled) svg.append(this.names(letters));
    const middle = room + (k * cell) / 2;
    const sides = drawn("g", { class: "heldout-sides-named", "font-size": 12 });
    sides.append(this.text("predicted", { x: middle, y: 11, "text-anchor": "middle" }), this.text("truth", { transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle" }));
    svg.append(sides);
    this.frame.replaceChildren(svg);
  }

  names(letters) {
    const group = drawn("g", { "font-size": letters });
    this.order.forEach((label, place) => {
      const middle = this.room + (place + 0.5) * this.cell + letters * 0.35;
      const name = this.labels[label];
      const text = name.length > LABEL_LETTERS ? `${name.slice(0, LABEL_LETTERS - 5)}…${name.slice(-4)}` : name;
      group.append(this.text(text, { x: this.room - 4, y: middle, "text-anchor": "end" }), this.text(text, { transform: `translate(${middle} ${this.room - 4}) rotate(-90)` }));
    });
    return group;
  }

  text(words, attributes) {
    const made = drawn("text", attributes);
    made.textContent = words;
    return made;
  }

  point(event) {
    const box = this.frame.firstElementChild.getBoundingClientRect();
    const [j, i] = [event.clientX - box.left, event.clientY - box.top].map((at) => Math.floor((at - this.room) / this.cell));
    const last = this.labels.length - 1;
    if (i < 0 || j < 0 || i > last || j > last) this.leave();
    else this.go(i, j);
  }

  go(i, j) {
    this.at = [i, j];
    const [truth, predicted] = [this.order[i], this.order[j]];
    const value = this.counts.get(truth * this.labels.length + predicted) || 0;
    const share = this.totals[truth] > 0 ? value / this.totals[truth] : NaN;
    this.pointed.textContent = `truth ${this.labels[truth]}, predicted ${this.labels[predicted]}: ${written(value, "count")} of ${written(this.totals[truth], "count")} cases (${percentage(share)})`;
    this.cursor.setAttribute("d", `M${j} ${i}h1v1h-1z`);
    this.cursor.setAttribute("visibility", "visible");
    if (document.activeElement !== this.frame) return;
    // A cell that the keys reach is brought into sight.
    const [x, y] = [this.room + j * this.cell, this.room + i * this.cell];
    if (x < this.frame.scrollLeft || x + this.cell > this.frame.scrollLeft + this.frame.clientWidth) this.frame.scrollLeft = x - this.frame.clientWidth / 2;
    if (y < this.frame.scrollTop || y + this.cell > this.frame.scrollTop + this.frame.clientHeight) this.frame.scrollTop = y - this.frame.clientHeight / 2;
  }

  speak() {
    this.spoken.textContent = this.pointed.textContent;
  }

  leave() {
    this.pointed.textContent = this.rest;
    this.cursor?.setAttribute("visibility", "hidden");
  }
}

const heatmaps = [...document.querySelectorAll("[data-heatmap]")].map((root) => new Heatmap(root));
// In a fold there is no width to draw for until it is opened.
document.addEventListener("toggle", () => heatmaps.forEach((map) => { if (map.frame.clientWidth && map.frame.clientWidth !== map.drawnFor) map.draw(); }), true);
