// The theme's buttons that unfold a part of the navigation have a picture and no name: give them one.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("summary > .toctree-toggle").forEach((toggle) => {
    toggle.parentElement.setAttribute("aria-label", "Show the pages below");
  });
});
