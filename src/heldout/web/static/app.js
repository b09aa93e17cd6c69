/*! Part of heldout. SPDX-License-Identifier: Apache-2.0 */
// The pages around a report: sends a file, sends the form, and asks how far the work is. Text is only ever set as text.
const find = (id) => document.getElementById(id);

function complain(what, hint) {
  const [first, second] = find("wrong").children;
  first.textContent = what;
  second.textContent = hint ? `Hint: ${hint}` : "";
  find("wrong").hidden = false;
  find("wrong").focus();
}

const LOST = ["The server does not answer.", "check that it is still running, and try again."];

async function ask(method, address, body) {
  try {
    const answer = await fetch(address, {
      method, body, headers: { Accept: "application/json", ...(body ? { "Content-Type": "application/json" } : {}) },
    });
    const said = await answer.json();
    if (answer.ok) return said;
    complain(said.what, said.hint);
  } catch {
    complain(...LOST);
  }
  return null;
}

function sending(form) {
  const input = find("file"), drop = find("drop"), example = find("example");
  let request = null;
  const busy = (on) => {
    find("sending").hidden = !on;
    drop.hidden = on;
    if (example) example.hidden = on;
  };
  // One after the other: those that follow are put beside the first, or beside the one that all are compared with.
  const sendAll = (files) => {
    const large = files.find((file) => file.size > Number(form.dataset.most));
    find("wrong").hidden = true;
    if (large) {
      complain(`${large.name} ${form.dataset.tooLarge}`, form.dataset.tooLargeHint);
      input.value = "";
      return;
    }
    const next = (at, beside, first) => {
      if (at === files.length) { location.assign(first); return; }
      const said = files.length > 1 ? `${files[at].name}, ${at + 1} of ${files.length}` : files[at].name;
      send(files[at], files[at].name, said, beside, (page) => next(at + 1, beside || page.split("/").pop(), first || page));
    };
    next(0, form.dataset.beside, "");
  };
  const send = (file, name, shown, beside, then) => {
    busy(true);
    find("progress").value = 0;
    find("sent").textContent = `Sending ${shown}`;
    // A name is only shown, so the end of a long one is enough.
    const query = new URLSearchParams({ name: name.slice(-200) });
    if (beside) query.set("beside", beside);
    request = new XMLHttpRequest();
    request.open("POST", `/upload?${query}`);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => { if (event.lengthComputable) find("progress").value = event.loaded / event.total; };
    request.onload = () => {
      let said = {};
      try { said = JSON.parse(request.responseText); } catch { /* not ours: said below */ }
      if (request.status === 201) { then(said.next); return; }
      busy(false);
      input.value = "";
      complain(...(said.what ? [said.what, said.hint] : LOST));
    };
    request.onerror = () => { busy(false); input.value = ""; complain(...LOST); };
    request.onabort = () => { busy(false); input.value = ""; input.focus(); };
    request.send(file);
  };
  input.addEventListener("change", () => { if (input.files.length) sendAll([...input.files]); });
  find("stop").addEventListener("click", () => request?.abort());
  addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const files = [...event.dataTransfer.files];
    if (files.length && find("sending").hidden) sendAll(files);
  });
  example?.addEventListener("click", async () => {
    try {
      const file = await (await fetch(example.dataset.example)).blob();
      sendAll([new File([file], "example.csv")]);
    } catch { complain(...LOST); }
  });
  // The browser's own "back" shows the page as it was left.
  addEventListener("pageshow", () => { busy(false); input.value = ""; });
}

function choosing(form) {
  // The classes that were found in the column of the truth, to choose from.
  form.elements.truth.addEventListener("change", () => {
    const { positive, truth } = form.elements;
    const row = truth.value === "" ? null : document.querySelectorAll("tr[data-values]")[truth.value];
    const values = row ? JSON.parse(row.dataset.values) : [];
    const before = positive.value;
    const options = values.map((value) => Object.assign(document.createElement("option"), { value, textContent: value }));
    positive.replaceChildren(positive.options[0], ...options);
    positive.value = values.includes(before) ? before : "";
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const data = new FormData(form);
    const chosen = Object.fromEntries(data);
    for (const name of ["score", "slices"]) chosen[name] = data.getAll(name);
    chosen.different_cases = data.has("different_cases");
    find("wrong").hidden = true;
    const said = await ask("POST", form.getAttribute("action"), JSON.stringify(chosen));
    if (said) location.assign(said.next);
  });
  find("remove").addEventListener("click", async () => {
    if (!confirm(find("remove").dataset.sure)) return;
    const said = await ask("DELETE", find("remove").dataset.remove);
    if (said) location.replace(said.next);
  });
}

function waiting(box) {
  let pause = 150;
  const poll = async () => {
    const said = await ask("GET", box.dataset.state);
    if (!said) { box.hidden = true; return; }
    if (!said.busy) { location.replace(said.next); return; }
    if (find("stage").textContent !== said.stage) find("stage").textContent = said.stage;
    find("seconds").textContent = Math.round(said.seconds);
    pause = Math.min(pause * 1.3, 1000);
    setTimeout(poll, pause);
  };
  find("cancel").addEventListener("click", async () => {
    find("cancel").disabled = true;
    const said = await ask("DELETE", box.dataset.job);
    if (said) location.replace(said.next);
  });
  setTimeout(poll, pause);
}

if (find("send")) sending(find("send"));
if (find("choose")) choosing(find("choose"));
if (find("working")) waiting(find("working"));
