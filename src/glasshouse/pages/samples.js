// Samples: a tooltip for each token with its probability and the most likely alternatives.
document.querySelectorAll(".sample").forEach((sample) => {
  const details = JSON.parse(sample.querySelector("script").textContent);
  const tokens = [...sample.querySelectorAll(".token")];

  function describe(detail) {
    const parts = [page.element("p", "tooltip-title token-text", detail.text)];
    if (detail.given) return [...parts, page.element("p", "", "prompt")];
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
    if (!detail.rank) parts.push(page.element("p", "remark", `sampled token is not among the ${detail.alternatives.length} most likely`));
    return parts;
  }

  tokens.forEach((token, index) => {
    // The title is for readers without JavaScript; here it would show a second tooltip.
    token.setAttribute("aria-label", details[index].text + ": " + token.title);
    token.removeAttribute("title");
    token.setAttribute("role", "button");
    const show = () => page.showTooltip(describe(details[index]), token.getClientRects()[0] || token.getBoundingClientRect());
    token.addEventListener("pointerenter", show);
    // Focusing may scroll the page, and scrolling hides the tooltip, so it is shown in the next frame.
    token.addEventListener("focus", () => requestAnimationFrame(show));
    token.addEventListener("pointerleave", page.hideTooltip);
    token.addEventListener("blur", page.hideTooltip);
  });
  page.moveByArrowKeys(tokens, 10);
});
