// Reading: a number's making in a dialog, regions that scroll, and everything open on paper.

// What an address points to; one that cannot be read points nowhere.
function aimed(hash) {
  try {
    return document.getElementById(decodeURIComponent(hash.slice(1)));
  } catch {
    return null;
  }
}

function openHow(event) {
  const link = event.target.closest("a.heldout-how");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const section = aimed(link.hash);
  const dialog = document.querySelector("dialog.heldout-dialog");
  if (!section || !dialog.showModal) return;
  event.preventDefault();
  const fold = section.parentElement.closest("details");
  const heading = section.querySelector(":scope > .heldout-heading") || (fold && fold.querySelector("summary > .heldout-heading"));
  const copy = section.cloneNode(true);
  copy.removeAttribute("id");
  copy.querySelectorAll("[id]").forEach((element) => element.removeAttribute("id"));
  copy.querySelector(":scope > .heldout-heading")?.remove();
  document.getElementById("heldout-dialog-title").textContent = heading ? heading.textContent : "How this number was made";
  const body = dialog.querySelector(".heldout-dialog-body");
  body.replaceChildren(...told(HERE.get(link.closest("tr[data-name]"))), ...copy.childNodes);
  if (!dialog.open) dialog.showModal();
  body.scrollTop = 0;
}

// What a moving figure says of itself where it stands; what follows is of the report as it was written.
function told(figure) {
  if (!figure) return [];
  const [heading, facts] = figure();
  const list = element("dl", "");
  list.className = "heldout-facts";
  facts.forEach(([name, text]) => list.append(element("dt", name), element("dd", text)));
  return [element("h3", heading), list, element("h3", "In general, and as the report was written")];
}

function element(kind, text) {
  const made = document.createElement(kind);
  made.textContent = text;
  made.dir = "auto";
  return made;
}

document.addEventListener("click", openHow);

const dialog = document.querySelector("dialog.heldout-dialog");
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
// A click on the backdrop is one on the dialog itself.
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

// A link to a folded section opens it, also in browsers that do not open it themselves.
function unfold() {
  const target = aimed(location.hash);
  for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (target) target.scrollIntoView();
}

window.addEventListener("hashchange", unfold);
if (location.hash) unfold();

// Only what scrolls is worth a stop of the tab key.
function stops() {
  document.querySelectorAll(".heldout-scroll").forEach((region) => {
    const scrolls = region.scrollWidth > region.clientWidth + 1;
    if (scrolls) region.setAttribute("tabindex", "0");
    else region.removeAttribute("tabindex");
    // Names of rows stay in sight while the rest scrolls, unless they would leave it no room.
    const names = region.querySelector("tbody th");
    region.classList.toggle("heldout-pinned", Boolean(scrolls && names && names.offsetWidth < region.clientWidth * 0.45));
  });
}

if (window.ResizeObserver) {
  const watcher = new ResizeObserver(() => requestAnimationFrame(stops));
  watcher.observe(document.body);
}
document.addEventListener("toggle", stops, true);

// On paper every fold is open but those that the stylesheet leaves out, and a table too wide for the paper is made smaller.
const [PAPER, PRINTED] = [680, 0.72]; // pixels between the margins of A4; the size of letters there to that on a screen
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")].filter((fold) => !fold.matches(".heldout-points, .heldout-made"));
  folded.forEach((fold) => { fold.open = true; });
  document.querySelectorAll(".heldout-scroll > table").forEach((table) => {
    const share = PAPER / (table.scrollWidth * PRINTED);
    if (share < 1) table.style.zoom = String(share);
  });
});
window.addEventListener("afterprint", () => {
  folded.forEach((fold) => { fold.open = false; });
  document.querySelectorAll(".heldout-scroll > table").forEach((table) => { table.style.zoom = ""; });
});

// Where the reader is, in the contents.
const links = new Map([...document.querySelectorAll(".heldout-contents a")].map((a) => [a.hash.slice(1), a]));
if (links.size && window.IntersectionObserver) {
  const seen = new Set();
  const mark = () => {
    // The last sections may be too short to come to the top: at the end of the page the one aimed at is read, or the last.
    const ended = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const asked = location.hash.slice(1);
    const last = links.has(asked) && document.getElementById(asked).getBoundingClientRect().top >= 0 ? asked : [...links.keys()].pop();
    const first = ended && scrollY > 0 ? last : [...links.keys()].find((id) => seen.has(document.getElementById(id)));
    links.forEach((link, id) => {
      if (id === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  document.addEventListener("scrollend", mark);
  window.addEventListener("hashchange", () => requestAnimationFrame(mark));
  const watcher = new IntersectionObserver((entries) => {
    entries.forEach((entry) => seen[entry.isIntersecting ? "add" : "delete"](entry.target));
    mark();
  }, { rootMargin: "-5% 0px -60% 0px" });
  links.forEach((_, id) => watcher.observe(document.getElementById(id)));
}
