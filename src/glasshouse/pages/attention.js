// Attention: choose a head by its thumbnail; read any weight in the large map; see where a token of the sentence looks.
(() => {
  const data = document.getElementById("attention-data");
  if (!data) return;
  const { heads, queries, keys, causal, thousandths } = JSON.parse(data.textContent);
  const bytes = Uint8Array.from(atob(thousandths), (character) => character.charCodeAt(0));
  const weights = new DataView(bytes.buffer);
  const thumbnails = [...document.querySelectorAll(".head")];
  // A sentence that looks at itself is both: what looks, and what is looked at.
  const words = [...document.querySelectorAll(".sentence:not(.source) .word")];
  const source = document.querySelector(".sentence.source");
  const seen = source ? [...source.querySelectorAll(".word")] : words;
  const names = words.map((word) => word.textContent), seenNames = seen.map((word) => word.textContent);
  const map = document.querySelector("svg.map");
  const left = Number(map.dataset.left), top = Number(map.dataset.top), cell = Number(map.dataset.cell);
  const looksAt = document.getElementById("looks-at");
  const invitation = source
    ? "Point at a token of the translation above, or at a cell of the map."
    : "Point at a token above, or at a cell of the map.";
  let chosen = 0, query = 0, key = 0;

  const marks = page.drawing("g", { class: "marks", display: "none" }, map);
  const row = page.drawing("rect", { class: "band", x: left, width: cell * keys, height: cell }, marks);
  const column = page.drawing("rect", { class: "band", y: top, width: cell, height: cell * queries }, marks);
  const spot = page.drawing("rect", { class: "spot", width: cell, height: cell }, marks);
  const labels = { query: [...map.querySelectorAll("text.query")], key: [...map.querySelectorAll("text.key")] };

  // Two bytes a weight, in the order of head, query, key; a causal map holds only the keys up to each query.
  function weight(from, to) {
    if (causal && to > from) return 0;
    const place = causal
      ? (chosen * queries * (queries + 1) + from * (from + 1)) / 2 + to
      : (chosen * queries + from) * keys + to;
    return weights.getUint16(2 * place, true) / 1000;
  }

  function choose(index) {
    chosen = index;
    thumbnails.forEach((thumbnail, place) => thumbnail.setAttribute("aria-pressed", String(place === index)));
    const thumbnail = thumbnails[index];
    for (const theme of ["light-only", "dark-only"]) {
      map.querySelector("image." + theme).setAttribute("href", thumbnail.querySelector("img." + theme).src);
    }
    document.getElementById("chosen-head").textContent = thumbnail.dataset.name;
    document.getElementById("chosen-habit").textContent = thumbnail.dataset.habit;
    map.setAttribute("aria-label", `Attention of ${thumbnail.dataset.name}; rows look, columns are looked at`);
    clear();
  }

  function lightUp(from) {
    seen.forEach((word, to) => {
      const share = Math.sqrt(weight(from, to)) * 72;
      word.style.backgroundColor = `color-mix(in srgb, var(--accent) ${share.toFixed(0)}%, transparent)`;
    });
    words.forEach((word, place) => word.classList.toggle("looking", place === from));
    const favourites = seenNames.map((name, to) => [weight(from, to), name]).sort((a, b) => b[0] - a[0]).slice(0, 4);
    looksAt.replaceChildren(page.element("b", "token-text", names[from]), " looks at");
    favourites.filter(([share]) => share > 0).forEach(([share, name]) => {
      const line = page.element("span", "look");
      const bar = page.element("span", "bar");
      bar.style.width = share * 90 + "px";
      line.append(page.element("span", "token-text", name), bar, page.element("span", "figure", share.toFixed(3)));
      looksAt.append(line);
    });
  }

  function clear() {
    seen.forEach((word) => { word.style.backgroundColor = ""; });
    words.forEach((word) => word.classList.remove("looking"));
    marks.setAttribute("display", "none");
    for (const axis of [labels.query, labels.key]) axis.forEach((label) => label.classList.remove("named"));
    looksAt.textContent = invitation;
    page.hideTooltip();
  }

  function pointAt(from, to) {
    clear();
    [query, key] = [from, to];
    lightUp(from);
    marks.setAttribute("display", "inline");
    row.setAttribute("y", top + from * cell);
    column.setAttribute("x", left + to * cell);
    spot.setAttribute("x", left + to * cell);
    spot.setAttribute("y", top + from * cell);
    labels.query[from].classList.add("named");
    labels.key[to].classList.add("named");
    const line = page.element("p", "");
    line.append(page.element("span", "token-text", names[from]), " → ", page.element("span", "token-text", seenNames[to]), ": ");
    line.append(page.element("b", "", weight(from, to).toFixed(3)));
    page.showTooltip([line], spot.getBoundingClientRect());
  }

  function follow(event) {
    const box = map.getBoundingClientRect(), scale = box.width / map.viewBox.baseVal.width;
    const to = Math.floor(((event.clientX - box.left) / scale - left) / cell);
    const from = Math.floor(((event.clientY - box.top) / scale - top) / cell);
    if (from >= 0 && from < queries && to >= 0 && to < keys) pointAt(from, to); else clear();
  }

  map.addEventListener("pointermove", follow);
  map.addEventListener("pointerdown", follow);
  map.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
  map.addEventListener("blur", clear);
  map.addEventListener("keydown", (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const within = (place, count) => Math.min(count - 1, Math.max(0, place));
    pointAt(within(query + moves[event.key][0], queries), within(key + moves[event.key][1], keys));
  });

  words.forEach((word, from) => {
    word.setAttribute("role", "button");
    word.addEventListener("pointerenter", () => lightUp(from));
    word.addEventListener("pointerleave", clear);
    word.addEventListener("focus", () => lightUp(from));
    word.addEventListener("blur", clear);
  });
  thumbnails.forEach((thumbnail, index) => thumbnail.addEventListener("click", () => choose(index)));
  page.byArrowKeys(words, 8);
  page.byArrowKeys(thumbnails, heads);
  clear();
})();
