// Samples: a tooltip for each token with its probability and what else was likely in its place.
document.querySelectorAll(".sample").forEach((sample) => {
  const details = JSON.parse(sample.querySelector("script").textContent);
  const tokens = [...sample.querySelectorAll(".token")];

  function describe(detail) {
    const parts = [page.element("p", "tooltip-title token-text", detail.text)];
    if (detail.given) return [...parts, page.element("p", "", "given by the prompt")];
    parts.push(page.element("p", "", "probability " + (detail.probability || "unknown")));
    if (!detail.alternatives.length) return parts;
    const table = page.element("table", "alternatives");
    detail.alternatives.forEach(([text, percentage, share], index) => {
      const row = page.element("tr", index + 1 === detail.rank ? "chosen" : "");
      const bar = page.element("span", "bar");
      bar.style.width = Math.max(1, share * 64) + "px";
      const cell = page.element("td", "");
      cell.append(bar);
      row.append(page.element("td", "rank", index + 1), page.element("td", "token-text", text), cell);
      row.append(page.element("td", "figure", percentage));
      table.append(row);
    });
    parts.push(table);
    if (!detail.rank) parts.push(page.element("p", "remark", `chosen from beyond the ${detail.alternatives.length} likeliest`));
    return parts;
  }

  tokens.forEach((token, index) => {
    // The title serves a reader without scripts; with them it would be a second tooltip.
    token.setAttribute("aria-label", details[index].text + ": " + token.title);
    token.removeAttribute("title");
    token.setAttribute("role", "button");
    const show = () => page.showTooltip(describe(details[index]), token.getClientRects()[0] || token.getBoundingClientRect());
    token.addEventListener("pointerenter", show);
    // Focus may scroll, and scrolling hides the tooltip: show it once that is over.
    token.addEventListener("focus", () => requestAnimationFrame(show));
    token.addEventListener("pointerleave", page.hideTooltip);
    token.addEventListener("blur", page.hideTooltip);
  });
  page.byArrowKeys(tokens, 10);
});
