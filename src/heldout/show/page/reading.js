// Reading: a number's making in a dialog, regions that scroll, and everything open on paper.

function openHow(event) {
  const link = event.target.closest("a.heldout-how");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const section = document.getElementById(decodeURIComponent(link.hash.slice(1)));
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
  body.replaceChildren(...copy.childNodes);
  if (!dialog.open) dialog.showModal();
  body.scrollTop = 0;
}

document.addEventListener("click", openHow);

const dialog = document.querySelector("dialog.heldout-dialog");
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
// A click on the backdrop is one on the dialog itself.
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

// A link to a folded section opens it, also in browsers that do not open it themselves.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
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
  });
}

if (window.ResizeObserver) {
  const watcher = new ResizeObserver(() => requestAnimationFrame(stops));
  watcher.observe(document.body);
}
document.addEventListener("toggle", stops, true);

let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((fold) => { fold.open = true; });
});
window.addEventListener("afterprint", () => folded.forEach((fold) => { fold.open = false; }));

// Where the reader is, in the contents.
const links = new Map([...document.querySelectorAll(".heldout-contents a")].map((a) => [a.hash.slice(1), a]));
if (links.size && window.IntersectionObserver) {
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    entries.forEach((entry) => seen[entry.isIntersecting ? "add" : "delete"](entry.target));
    const first = [...links.keys()].find((id) => seen.has(document.getElementById(id)));
    links.forEach((link, id) => {
      if (id === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  }, { rootMargin: "-5% 0px -60% 0px" });
  links.forEach((_, id) => watcher.observe(document.getElementById(id)));
}
