// The explorer: renders the steps of one text for the chosen token, layer and head.
(() => {
  const content = JSON.parse(document.getElementById("explorer-data").textContent);
  const tokens = [...document.querySelectorAll(".explorer-token")];
  const list = document.getElementById("steps");
  const layerInput = document.getElementById("layer"), headInput = document.getElementById("head");
  const mostBars = 12;
  let token = tokens.length - 1, layer = 0, head = 0, temperature = 1, sampled = "";

  // Numbers are unpacked when a step is first shown: a page may hold millions.
  function numbers(step) {
    if (!step.values) {
      const bytes = Uint8Array.from(atob(step.numbers), (character) => character.charCodeAt(0));
      step.values = new Float32Array(bytes.buffer);
    }
    return step.values;
  }

  // The row of a step's array for the chosen token and, if it has heads, the chosen head. Groups of heads may share keys.
  function row(step) {
    const values = numbers(step), shape = step.shape, width = shape[shape.length - 1];
    if (step.kind === "output") return values.subarray(place(shape[0]) * width, (place(shape[0]) + 1) * width);
    if (step.kind === "vector") return values.subarray(token * width, (token + 1) * width);
    const group = Math.min(Math.floor((head * shape[0]) / content.heads), shape[0] - 1);
    const at = Math.min(token, shape[1] - 1);
    return values.subarray((group * shape[1] + at) * width, (group * shape[1] + at + 1) * width);
  }

  const place = (rows) => Math.min(token, rows - 1);

  function written(value) {
    const size = Math.abs(value);
    if (value === 0) return "0";
    return size >= 1000 || size < 0.001 ? value.toExponential(2) : value.toPrecision(3);
  }

  function strip(step) {
    const values = row(step), box = page.element("div", values.length <= 24 ? "strip wide" : "strip");
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-12);
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `${values.length} numbers from ${written(Math.min(...values))} to ${written(Math.max(...values))}`);
    values.forEach((value, index) => {
      const cell = page.element("span", "cell");
      const share = Math.round(90 * Math.sqrt(Math.abs(value) / largest)) + 4;
      cell.style.backgroundColor = `color-mix(in srgb, var(${value >= 0 ? "--accent" : "--ochre"}) ${share}%, transparent)`;
      cell.title = `${index + 1}: ${written(value)}`;
      box.append(cell);
    });
    const first = [...values.subarray(0, 8)].map(written).join("  ");
    if (values.length <= 8) return [box, page.element("p", "numbers", first)];
    const all = page.element("details", "numbers");
    all.append(page.element("summary", "", `${first}  … all ${values.length}`));
    // The text of all numbers is made when it is asked for.
    all.addEventListener("toggle", () => { if (all.children.length === 1) all.append(page.element("p", "", [...values].map(written).join("  "))); });
    return [box, all];
  }

  function bars(rows, largest) {
    const table = page.element("div", "rows");
    for (const { name, value, hidden, figure } of rows) {
      const track = page.element("span", "track"), bar = page.element("span", value < 0 ? "bar negative" : "bar");
      bar.style.width = `${(100 * Math.abs(value)) / largest}%`;
      track.append(bar);
      table.append(page.element("span", hidden ? "name hidden" : "name", name), track, page.element("span", hidden ? "figure hidden" : "figure", hidden ? "hidden" : figure));
    }
    return [table];
  }

  function keyBars(step) {
    const values = row(step), names = content.sources.length && values.length === content.sources.length && step.title.startsWith("Cross") ? content.sources : content.tokens;
    const finite = [...values].map((value) => (Number.isFinite(value) ? value : 0));
    const largest = Math.max(...finite.map(Math.abs), 1e-12);
    const rows = finite.map((value, index) => ({ name: names[index] ?? `key ${index + 1}`, value, figure: written(value), hidden: step.mask && value === 0 }));
    return bars(rows, largest);
  }

  function prediction(step) {
    const logits = [...row(step)].map((value) => value / temperature);
    const most = Math.max(...logits), powers = logits.map((value) => Math.exp(value - most));
    const total = powers.reduce((sum, value) => sum + value, 0);
    const order = powers.map((value, index) => [value / total, index]).sort((a, b) => b[0] - a[0]);
    const rows = order.slice(0, mostBars).map(([share, index]) => ({ name: content.outputs[index], value: share, figure: share.toFixed(4), hidden: false }));
    const controls = page.element("div", "sampling");
    const label = page.element("label", "", "temperature ");
    const slider = page.element("input");
    Object.assign(slider, { type: "range", min: "0.1", max: "2", step: "0.1", value: String(temperature), id: "temperature" });
    label.append(slider, page.element("output", "", temperature.toFixed(1)));
    slider.addEventListener("input", () => { temperature = Number(slider.value); sampled = ""; show(); document.getElementById("temperature").focus(); });
    const button = page.element("button", "", "sample");
    button.type = "button";
    button.id = "sample";
    button.addEventListener("click", () => {
      let left = Math.random();
      const drawn = order.find(([share]) => (left -= share) <= 0) ?? order[0];
      sampled = content.outputs[drawn[1]];
      show();
      document.getElementById("sample").focus();
    });
    controls.append(label, button, page.element("span", "sampled", sampled));
    return [controls, ...bars(rows, 1)];
  }

  const views = { vector: strip, "head-vector": strip, "head-row": keyBars, output: prediction };

  function card(step, where) {
    const item = page.element("li", "step");
    item.tabIndex = -1;
    const heading = page.element("h2", "", where ? `${where}: ${step.title}` : step.title);
    const shape = step.shape.join(" × ") + { vector: " (tokens × width)", "head-vector": " (heads × tokens × head width)", "head-row": " (heads × tokens × keys)", output: " (predictions × outputs)" }[step.kind];
    item.append(heading, page.element("p", "formula", step.formula), page.element("p", "about", step.about), page.element("p", "shape", `shape ${shape}`), ...views[step.kind](step));
    return item;
  }

  function show() {
    tokens.forEach((other, index) => {
      other.setAttribute("aria-selected", String(index === token));
      other.tabIndex = index === token ? 0 : -1;
    });
    document.getElementById("layer-name").textContent = String(layer + 1);
    document.getElementById("head-name").textContent = String(head + 1);
    const focused = [...list.children].indexOf(document.activeElement);
    const layerSteps = content.layers[layer] ?? [];
    list.replaceChildren(
      ...content.before.map((step) => card(step, "")),
      ...layerSteps.map((step) => card(step, `Layer ${layer + 1}`)),
      ...content.after.map((step) => card(step, "")),
    );
    if (focused >= 0) list.children[focused].focus({ preventScroll: true });
  }

  function choose(index) {
    token = Math.min(Math.max(index, 0), tokens.length - 1);
    sampled = "";
    show();
    tokens[token].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  tokens.forEach((button, index) => {
    button.addEventListener("click", () => choose(index));
    button.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      choose(index + move);
      tokens[token].focus();
    });
  });
  layerInput.addEventListener("input", () => { layer = Number(layerInput.value) - 1; show(); });
  headInput.addEventListener("input", () => { head = Number(headInput.value) - 1; show(); });
  document.addEventListener("keydown", (event) => {
    const move = { n: 1, p: -1 }[event.key];
    if (!move || event.target.tagName === "INPUT") return;
    const at = [...list.children].indexOf(document.activeElement.closest ? document.activeElement.closest(".step") : null);
    const next = list.children[Math.min(Math.max(at + move, 0), list.children.length - 1)];
    if (next) next.focus();
  });
  choose(token);
})();
