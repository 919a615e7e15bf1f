// The index: filter and sort of the runs, the curves of the chosen ones, and, on a served page, what has changed since.
(() => {
  const main = document.getElementById("index"), live = main.dataset.live === "true";
  const curves = JSON.parse(document.getElementById("curve-data").textContent);
  const byId = (id) => document.getElementById(id);
  const body = document.querySelector("#run-table tbody");
  const TONES = ["accent", "ochre", "blue", "plum", "quiet"], DASHES = 4, FIRST_ROWS = 25, FIGURE = 4, EVERY = 2000;
  const chosen = new Set([...document.querySelectorAll("#run-table input:checked")].map((box) => box.closest("tr").dataset.key));
  const styleOf = new Map();
  let everyRow = false, sortBy = { column: 7, descending: true };

  const rows = () => (body ? [...body.rows] : []);
  const name = (key) => key.split("/").slice(-1)[0];

  // A run keeps its colour as long as it is chosen.
  function style(key) {
    if (!styleOf.has(key)) {
      const used = new Set([...styleOf].filter(([other]) => chosen.has(other)).map(([, number]) => number));
      let number = 0;
      while (used.has(number)) number++;
      styleOf.set(key, number);
    }
    const number = styleOf.get(key);
    return TONES[number % TONES.length] + " dash-" + (Math.floor(number / TONES.length) % DASHES);
  }

  // Ticks at 1, 2 or 5 times a power of ten.
  function ticks(low, high, count) {
    const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    const list = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) list.push(Number(tick.toPrecision(12)));
    return list;
  }

  function drawOverlay(figure) {
    const kind = figure.dataset.overlay;
    const lines = [...chosen].filter((key) => curves[key] && curves[key][kind]).map((key) => (
      { key, name: name(key), tone: style(key), steps: curves[key][kind][0], values: curves[key][kind][1] }));
    const caption = page.element("figcaption");
    caption.append(page.element("h3", "", figure.dataset.title));
    figure.replaceChildren(caption);
    if (!lines.length) {
      figure.append(page.element("p", "remark", chosen.size ? "None of the chosen runs has this curve." : "No run is chosen."));
      return;
    }
    const width = 460, height = 270, values = lines.flatMap((line) => line.values);
    let low = Math.min(...values), high = Math.max(...values);
    const room = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
    low = Math.max(low - room, low >= 0 ? 0 : -Infinity);
    high += room;
    const across = [0, Math.max(...lines.map((line) => line.steps.at(-1)), 1)];
    const down = ticks(low, high, 5), frame = [14 + 7.2 * Math.max(...down.map((tick) => String(tick).length)), 10, width - 8, height - 30];
    const x = (step) => frame[0] + ((step - across[0]) / (across[1] - across[0])) * (frame[2] - frame[0]);
    const y = (value) => frame[3] - ((value - low) / (high - low)) * (frame[3] - frame[1]);
    const ends = lines.map((line) => `${line.name} ends at ${line.values.at(-1)}`).join("; ");
    const svg = page.drawing("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${figure.dataset.title} over training steps: ${ends}` }, figure);
    down.forEach((tick) => {
      page.drawing("path", { class: "grid", d: `M${frame[0]} ${y(tick)}H${frame[2]}` }, svg);
      page.drawing("text", { x: frame[0] - 8, y: y(tick) + 4, "text-anchor": "end" }, svg).textContent = tick;
    });
    page.drawing("path", { class: "axis", fill: "none", d: `M${frame[0]} ${frame[3]}H${frame[2]}` }, svg);
    ticks(across[0], across[1], 5).forEach((tick, index) => {
      const label = page.drawing("text", { x: x(tick), y: frame[3] + 18, "text-anchor": x(tick) > frame[2] - 14 ? "end" : "middle" }, svg);
      label.textContent = (index ? "" : "step ") + tick.toLocaleString("en");
    });
    lines.forEach((line, number) => {
      const group = page.drawing("g", { class: "curve " + line.tone, "data-curve": number }, svg);
      const points = line.steps.map((step, at) => `${x(step).toFixed(1)} ${y(line.values[at]).toFixed(1)}`);
      page.drawing("path", { class: "line", fill: "none", "stroke-width": 1.7, d: "M" + points.join("L") }, group);
      if (points.length < 20) page.drawing("path", { class: "dots", fill: "none", "stroke-width": 4.5, "stroke-linecap": "round", d: points.map((point) => `M${point}h0`).join("") }, group);
    });
    const drawn = lines.map(({ name, tone, steps, values }) => ({ name, tone, steps, values }));
    svg.dataset.chart = JSON.stringify({ frame, across, scales: { linear: [low, high] }, shown: "linear", curves: drawn });
    enhanceChart(svg);
  }

  function draw() {
    document.querySelectorAll("[data-overlay]").forEach(drawOverlay);
    byId("chosen").replaceChildren(...[...chosen].map((key) => {
      const item = page.element("li"), button = page.element("button", style(key));
      button.type = "button";
      button.append(page.element("span", "swatch"), name(key));
      button.setAttribute("aria-label", `remove ${key} from the curves`);
      button.addEventListener("click", () => choose(key, false));
      item.append(button);
      return item;
    }));
    byId("none").hidden = !chosen.size;
  }

  function choose(key, on) {
    if (on) chosen.add(key); else { chosen.delete(key); styleOf.delete(key); }
    const row = rows().find((row) => row.dataset.key === key);
    if (row) row.querySelector("input").checked = on;
    if (on && live && !curves[key]) fetchCurves([key]);
    draw();
  }

  // Numbers are compared by size, everything else by its letters; a run without a value comes last. Main figures are compared
  // with those of the same metric, the best first.
  function sort() {
    const cell = (row) => row.cells[sortBy.column], value = (row) => cell(row).dataset.sort;
    const size = (row) => (value(row) === "" ? NaN : Number(value(row).replace(/[,\s%]/g, "")) * (cell(row).dataset.better === "higher" ? -1 : 1));
    const keys = new Map(rows().map((row) => [row, { text: value(row), number: size(row), metric: cell(row).dataset.metric || "" }]));
    const numbers = [...keys.values()].every((key) => key.text === "" || !Number.isNaN(key.number));
    const sign = sortBy.descending ? -1 : 1;
    const sorted = rows().sort((a, b) => {
      const one = keys.get(a), other = keys.get(b);
      if (one.text === "" || other.text === "") return (one.text === "") - (other.text === "");
      if (one.metric !== other.metric) return one.metric.localeCompare(other.metric, "en");
      return sign * (numbers ? one.number - other.number : one.text.localeCompare(other.text, "en", { numeric: true }));
    });
    body.append(...sorted);
    document.querySelectorAll("#run-table thead th").forEach((head, index) => {
      if (index + 1 !== sortBy.column) head.removeAttribute("aria-sort");
      else if (sortBy.column === FIGURE) {
        head.setAttribute("aria-sort", "other");
        head.querySelector("button").dataset.order = sortBy.descending ? "worst first" : "best first";
      } else head.setAttribute("aria-sort", sortBy.descending ? "descending" : "ascending");
    });
  }

  function filter() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean), state = byId("state").value;
    const studies = byId("with-studies") ? byId("with-studies").checked : true;
    let matching = 0, shown = 0;
    rows().forEach((row) => {
      const text = row.dataset.key.toLowerCase() + " " + row.textContent.toLowerCase();
      const fits = (studies || !row.classList.contains("of-study")) && (!state || row.dataset.status === state) && words.every((word) => text.includes(word));
      row.classList.toggle("asked", fits);
      matching += fits;
      row.hidden = !fits || (!everyRow && matching > FIRST_ROWS);
      shown += !row.hidden;
    });
    byId("shown").textContent = shown === matching ? `${matching.toLocaleString("en")} shown` : `${shown} of ${matching.toLocaleString("en")} shown`;
    byId("more").hidden = shown === matching;
    byId("more").textContent = `show all ${matching.toLocaleString("en")}`;
  }

  // A state that no run had when the page was made.
  function addStates() {
    const known = new Set([...byId("state").options].map((option) => option.value));
    new Set(rows().map((row) => row.dataset.status)).forEach((state) => { if (!known.has(state)) byId("state").append(new Option(state)); });
  }

  function arrange() {
    if (!body) return;
    addStates();
    sort();
    filter();
  }

  if (body) {
    body.addEventListener("change", (event) => {
      if (event.target.matches(".choose input")) choose(event.target.closest("tr").dataset.key, event.target.checked);
    });
    document.querySelectorAll("[data-sort-by]").forEach((button) => button.addEventListener("click", () => {
      const column = Number(button.dataset.sortBy);
      // Names and words begin at A, main figures with the best of each metric, other numbers with the largest.
      sortBy = { column, descending: column === sortBy.column ? !sortBy.descending : column > FIGURE };
      arrange();
    }));
    byId("filter").addEventListener("input", filter);
    byId("state").addEventListener("change", filter);
    byId("with-studies")?.addEventListener("change", filter);
    document.querySelector(".controls").addEventListener("submit", (event) => event.preventDefault());
    byId("more").addEventListener("click", () => { everyRow = true; filter(); });
    byId("none").addEventListener("click", () => { [...chosen].forEach((key) => choose(key, false)); });
  }
  arrange();
  draw();

  // A served page asks its server. The token of the address goes with every request.
  const token = new URLSearchParams(location.search).get("token") || "";
  let version = "";

  async function fetchCurves(keys) {
    const query = new URLSearchParams([["token", token], ...keys.map((key) => ["key", key])]);
    const answer = await fetch("curves?" + query);
    if (!answer.ok) return;
    Object.assign(curves, await answer.json());
    draw();
  }

  // Within a row, an element is known by its link or its label.
  const identity = (element) => [element.tagName, element.getAttribute("href"), element.getAttribute("aria-label")].join(" ");

  // New rows in a table. The focus returns to the element that had it, or, if that is gone, to the first link of its row.
  function replaceRows(body, html, arrangeRows = () => {}) {
    const focused = body.contains(document.activeElement) ? document.activeElement : null, key = focused?.closest("tr").dataset.key;
    body.innerHTML = html;
    arrangeRows();
    if (!focused) return;
    const elements = [...([...body.rows].find((row) => row.dataset.key === key)?.querySelectorAll("a, input, summary, button") || [])];
    const same = elements.find((element) => identity(element) === identity(focused));
    (same || elements.find((element) => element.matches("a")))?.focus({ preventScroll: true });
  }

  async function refresh() {
    const pulse = byId("pulse");
    try {
      const answer = await fetch("rows?" + new URLSearchParams({ token, version }));
      if (!answer.ok) throw new Error(answer.status === 403 ? "refuses this token" : "answers with an error");
      const found = await answer.json();
      if (pulse.textContent !== "Live.") pulse.textContent = "Live.";
      if (found.version === version) return;
      version = found.version;
      const studies = document.querySelector("#study-table tbody");
      // The page had no table: it is served anew with one.
      if ((!body && found.has_runs) || (!studies && found.has_studies)) return location.reload();
      byId("counts").textContent = found.counts;
      if (body) {
        replaceRows(body, found.runs, () => {
          rows().forEach((row) => { const box = row.querySelector(".choose input"); if (box) box.checked = chosen.has(row.dataset.key); });
          arrange();
        });
      }
      if (studies && !studies.querySelector("details[open]")) replaceRows(studies, found.studies);
      if (chosen.size) fetchCurves([...chosen]);
    } catch (error) {
      pulse.textContent = `The server ${error instanceof TypeError ? "does not answer" : error.message}; this page tries again.`;
    }
  }
  if (live) {
    refresh();
    setInterval(refresh, EVERY);
  }
})();
