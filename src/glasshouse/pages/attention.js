// The attention section: choose a head by its thumbnail or scrub through the layers, read a weight in the large map, see the
// weights as lines, highlight the keys of a token.
(() => {
  const data = document.getElementById("attention-data");
  if (!data) return;
  const { heads, queries, keys, causal, thousandths } = JSON.parse(data.textContent);
  const bytes = Uint8Array.from(atob(thousandths), (character) => character.charCodeAt(0));
  const weights = new DataView(bytes.buffer);
  const thumbnails = [...document.querySelectorAll(".head")];
  // In self-attention the queries and the keys are the same words of the page.
  const queryWords = [...document.querySelectorAll(".sentence:not(.source) .word")];
  const source = document.querySelector(".sentence.source");
  const keyWords = source ? [...source.querySelectorAll(".word")] : queryWords;
  const queryNames = queryWords.map((word) => word.textContent), keyNames = keyWords.map((word) => word.textContent);
  const map = document.querySelector("svg.map");
  const left = Number(map.dataset.left), top = Number(map.dataset.top), cell = Number(map.dataset.cell);
  const readout = document.getElementById("looks-at");
  const hint = source
    ? "Point at a token of the translation above, or at a cell of the map."
    : "Point at a token above, or at a cell of the map.";
  const scrub = document.getElementById("layer-scrub");
  const matrix = document.getElementById("matrix-view"), lines = document.getElementById("lines-view");
  let chosen = 0, query = 0, key = 0;

  const highlight = page.drawing("g", { class: "marks", display: "none" }, map);
  const row = page.drawing("rect", { class: "band", x: left, width: cell * keys, height: cell }, highlight);
  const column = page.drawing("rect", { class: "band", y: top, width: cell, height: cell * queries }, highlight);
  const spot = page.drawing("rect", { class: "spot", width: cell, height: cell }, highlight);
  const labels = { query: [...map.querySelectorAll("text.query")], key: [...map.querySelectorAll("text.key")] };

  // Two bytes per weight, ordered by head, query, key; a causal map stores only the keys up to each query.
  function weight(from, to) {
    if (causal && to > from) return 0;
    const index = causal
      ? (chosen * queries * (queries + 1) + from * (from + 1)) / 2 + to
      : (chosen * queries + from) * keys + to;
    return weights.getUint16(2 * index, true) / 1000;
  }

  function choose(index) {
    chosen = index;
    thumbnails.forEach((other, position) => other.setAttribute("aria-pressed", String(position === index)));
    const thumbnail = thumbnails[index];
    for (const theme of ["light-only", "dark-only"]) {
      map.querySelector("image." + theme).setAttribute("href", thumbnail.querySelector("img." + theme).src);
    }
    document.getElementById("chosen-head").textContent = thumbnail.dataset.name;
    document.getElementById("chosen-pattern").textContent = thumbnail.dataset.pattern;
    map.setAttribute("aria-label", `Attention weights of ${thumbnail.dataset.name}; rows are queries, columns are keys`);
    if (scrub) scrub.value = String(Math.floor(index / heads) + 1);
    clear();
    if (!lines.hidden) drawLines(null);
  }

  // Queries on the left, keys on the right; the opacity of a line is the square root of its weight. With many tokens only the
  // lines of the query that is pointed at are drawn.
  const rowHeight = 22, columnGap = 190, smallestShown = 0.02, mostQueries = 48;
  const rowMiddle = (index) => (index + 0.5) * rowHeight + 4;
  const labelWidth = (names) => 8 * Math.max(...names.map((name) => name.length)) + 12;
  const linesLeft = labelWidth(queryNames);
  let lineGroup = null, lineLabels = [];

  function prepareLines() {
    const width = linesLeft + columnGap + labelWidth(keyNames), height = rowHeight * Math.max(queries, keys) + 8;
    const attributes = { class: "lines", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Attention weights of one head as lines from queries to keys" };
    const drawing = page.drawing("svg", attributes, lines);
    drawing.style.width = width + "px";
    lineGroup = page.drawing("g", {}, drawing);
    lineLabels = queryNames.map((name, index) => {
      const label = page.drawing("text", { class: "query", x: linesLeft - 6, y: rowMiddle(index) + 4, "text-anchor": "end", role: "button" }, drawing);
      label.textContent = name;
      const show = () => { drawLines(index); showKeys(index); };
      const hide = () => { drawLines(null); clear(); };
      label.addEventListener("pointerenter", show);
      label.addEventListener("pointerleave", hide);
      label.addEventListener("focus", show);
      label.addEventListener("blur", hide);
      return label;
    });
    keyNames.forEach((name, index) => {
      page.drawing("text", { class: "key", x: linesLeft + columnGap + 6, y: rowMiddle(index) + 4 }, drawing).textContent = name;
    });
    page.moveByArrowKeys(lineLabels, 1);
  }

  function drawLines(from) {
    if (!lineGroup) prepareLines();
    lineGroup.replaceChildren();
    lineLabels.forEach((label, index) => label.classList.toggle("named", index === from));
    const rows = from !== null ? [from] : queries <= mostQueries ? [...Array(queries).keys()] : [];
    for (const row of rows) {
      for (let to = 0; to < keys; to++) {
        const share = weight(row, to);
        if (share < smallestShown) continue;
        page.drawing("line", { class: "weight", x1: linesLeft, y1: rowMiddle(row), x2: linesLeft + columnGap, y2: rowMiddle(to), "stroke-opacity": Math.sqrt(share).toFixed(3), "stroke-width": (0.6 + 2.4 * share).toFixed(2) }, lineGroup);
      }
    }
  }

  function showKeys(from) {
    keyWords.forEach((word, to) => {
      const share = Math.sqrt(weight(from, to)) * 72;
      word.style.backgroundColor = `color-mix(in srgb, var(--accent) ${share.toFixed(0)}%, transparent)`;
    });
    queryWords.forEach((word, position) => word.classList.toggle("looking", position === from));
    const largest = keyNames.map((name, to) => [weight(from, to), name]).sort((a, b) => b[0] - a[0]).slice(0, 4);
    readout.replaceChildren(page.element("b", "token-text", queryNames[from]), " attends to");
    largest.filter(([share]) => share > 0).forEach(([share, name]) => {
      const line = page.element("span", "look");
      const bar = page.element("span", "bar");
      bar.style.width = share * 90 + "px";
      line.append(page.element("span", "token-text", name), bar, page.element("span", "figure", share.toFixed(3)));
      readout.append(line);
    });
  }

  function clear() {
    keyWords.forEach((word) => { word.style.backgroundColor = ""; });
    queryWords.forEach((word) => word.classList.remove("looking"));
    highlight.setAttribute("display", "none");
    for (const axis of [labels.query, labels.key]) axis.forEach((label) => label.classList.remove("named"));
    readout.textContent = hint;
    page.hideTooltip();
  }

  function pointAt(from, to) {
    clear();
    [query, key] = [from, to];
    showKeys(from);
    highlight.setAttribute("display", "inline");
    row.setAttribute("y", top + from * cell);
    column.setAttribute("x", left + to * cell);
    spot.setAttribute("x", left + to * cell);
    spot.setAttribute("y", top + from * cell);
    labels.query[from].classList.add("named");
    labels.key[to].classList.add("named");
    const line = page.element("p", "");
    line.append(page.element("span", "token-text", queryNames[from]), " → ", page.element("span", "token-text", keyNames[to]), ": ");
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
    const clamp = (index, count) => Math.min(count - 1, Math.max(0, index));
    pointAt(clamp(query + moves[event.key][0], queries), clamp(key + moves[event.key][1], keys));
  });

  queryWords.forEach((word, from) => {
    word.setAttribute("role", "button");
    word.addEventListener("pointerenter", () => showKeys(from));
    word.addEventListener("pointerleave", clear);
    word.addEventListener("focus", () => showKeys(from));
    word.addEventListener("blur", clear);
  });
  thumbnails.forEach((thumbnail, index) => thumbnail.addEventListener("click", () => choose(index)));
  if (scrub) scrub.addEventListener("input", () => choose((Number(scrub.value) - 1) * heads + (chosen % heads)));
  const views = [...document.querySelectorAll("[data-choose-view]")];
  views.forEach((button) => button.addEventListener("click", () => {
    const asLines = button.dataset.chooseView === "lines";
    views.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    matrix.hidden = asLines;
    lines.hidden = !asLines;
    if (asLines) drawLines(null);
  }));
  page.moveByArrowKeys(queryWords, 8);
  page.moveByArrowKeys(thumbnails, heads);
  clear();
})();
