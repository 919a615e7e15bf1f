// Charts: a crosshair that shows the value of every curve, a legend that hides curves, buttons that change the scale.
function enhanceChart(svg) {
  const chart = JSON.parse(svg.dataset.chart);
  const [left, top, right, bottom] = chart.frame;
  const hidden = new Set();
  let scaleName = chart.shown;

  const crosshair = page.drawing("g", { class: "crosshair", display: "none" }, svg);
  const rule = page.drawing("path", { class: "rule" }, crosshair);
  const dots = chart.curves.map((curve) => page.drawing("path", { class: "dots " + curve.tone }, crosshair));

  const xOf = (step) => left + ((step - chart.across[0]) / (chart.across[1] - chart.across[0])) * (right - left);
  const yOf = (value) => {
    const [low, high] = chart.scales[scaleName];
    const fraction = scaleName === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    return bottom - fraction * (bottom - top);
  };
  const format = (value) => {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(3);
    return String(Number(value.toPrecision(4)));
  };

  // Binary search: the steps are sorted.
  function nearest(steps, step) {
    let low = 0, high = steps.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (steps[middle] < step) low = middle; else high = middle;
    }
    return Math.abs(steps[low] - step) <= Math.abs(steps[high] - step) ? low : high;
  }

  const everyStep = [...new Set(chart.curves.flatMap((curve) => curve.steps))].sort((a, b) => a - b);
  let current = null;

  function show(index) {
    current = index;
    const step = everyStep[index];
    crosshair.setAttribute("display", "inline");
    rule.setAttribute("d", `M${xOf(step)} ${top}V${bottom}`);
    const parts = [page.element("p", "tooltip-title", "step " + step.toLocaleString("en"))];
    chart.curves.forEach((curve, number) => {
      const point = nearest(curve.steps, step), value = curve.values[point];
      const visible = curve.steps.length > 0 && !hidden.has(number);
      dots[number].setAttribute("d", visible && value !== null ? `M${xOf(curve.steps[point])} ${yOf(value)}h0` : "");
      if (!visible) return;
      const row = page.element("p", "reading " + curve.tone);
      row.append(page.element("span", "swatch"), page.element("span", "name", curve.name));
      if (curve.steps[point] !== step) row.append(page.element("small", "", "step " + curve.steps[point].toLocaleString("en")));
      row.append(page.element("b", "", value === null ? "not finite" : format(value)));
      parts.push(row);
    });
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const x = box.left + xOf(step) * scale;
    page.showTooltip(parts, { left: x, width: 0, top: box.top + top * scale, bottom: box.top + bottom * scale + 14 });
  }

  function hide() {
    current = null;
    crosshair.setAttribute("display", "none");
    page.hideTooltip();
  }

  function follow(event) {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const step = chart.across[0] + ((x - left) / (right - left)) * (chart.across[1] - chart.across[0]);
    show(nearest(everyStep, step));
  }

  svg.addEventListener("pointermove", follow);
  svg.addEventListener("pointerdown", follow);
  // On a touch screen the pointer leaves when the finger lifts; the tooltip must stay then.
  svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const last = everyStep.length - 1, stride = Math.max(1, Math.round(last / 50));
    const from = current === null ? last : current;
    const targets = { ArrowLeft: from - stride, ArrowRight: from + stride, Home: 0, End: last };
    if (!(event.key in targets)) return;
    event.preventDefault();
    show(Math.min(last, Math.max(0, targets[event.key])));
  });

  const panel = svg.closest(".panel");
  if (!panel) return;
  panel.querySelectorAll("[data-toggle-curve]").forEach((button) => {
    button.addEventListener("click", () => {
      const index = Number(button.dataset.toggleCurve), off = !hidden.has(index);
      if (off) hidden.add(index); else hidden.delete(index);
      button.setAttribute("aria-pressed", String(!off));
      svg.querySelectorAll(`[data-curve="${index}"]`).forEach((curve) => {
        curve.setAttribute("display", off ? "none" : "inline");
      });
    });
  });
  const switches = panel.querySelectorAll("[data-choose-scale]");
  switches.forEach((button) => {
    button.addEventListener("click", () => {
      scaleName = button.dataset.chooseScale;
      switches.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      svg.querySelectorAll("[data-scale]").forEach((group) => {
        group.setAttribute("display", group.dataset.scale === scaleName ? "inline" : "none");
      });
    });
  });
}
document.querySelectorAll("svg[data-chart]").forEach(enhanceChart);
