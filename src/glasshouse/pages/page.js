// What every part of the page shares: the tooltip, moving through a group of items by arrow keys, copying.
"use strict";
document.documentElement.classList.add("with-script");

const page = {
  // Text only ever enters the page as text, never as markup: a token may hold anything.
  element(name, className, content) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (content !== undefined) made.textContent = content;
    return made;
  },

  drawing(name, attributes, parent) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    parent.appendChild(made);
    return made;
  },

  tooltip: document.getElementById("tooltip"),

  // Shows the parts beside a rectangle of the window: below it where there is room, else above.
  showTooltip(parts, around) {
    const box = page.tooltip;
    box.replaceChildren(...parts);
    box.hidden = false;
    const width = box.offsetWidth, height = box.offsetHeight, gap = 8;
    const left = Math.min(Math.max(gap, around.left + around.width / 2 - width / 2), window.innerWidth - width - gap);
    const below = around.bottom + gap;
    const top = below + height < window.innerHeight ? below : Math.max(gap, around.top - height - gap);
    box.style.left = left + "px";
    box.style.top = top + "px";
  },

  hideTooltip() {
    page.tooltip.hidden = true;
  },

  // One stop for the tab key; arrows move within. Hundreds of tokens must not be hundreds of stops.
  byArrowKeys(items, columns) {
    items.forEach((item, index) => {
      item.tabIndex = index === 0 ? 0 : -1;
      item.addEventListener("keydown", (event) => {
        const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
        let target = index + (moves[event.key] || 0);
        if (event.key === "Home") target = 0;
        if (event.key === "End") target = items.length - 1;
        if (target === index || !items[target]) return;
        event.preventDefault();
        items[target].focus();
      });
      item.addEventListener("focus", () => {
        items.forEach((other) => { other.tabIndex = -1; });
        item.tabIndex = 0;
      });
    });
  },

  // The clipboard interface is refused to some local files; a selected field is the older way.
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field = page.element("textarea");
      field.value = text;
      document.body.appendChild(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      return done;
    }
  },
};

document.addEventListener("keydown", (event) => { if (event.key === "Escape") page.hideTooltip(); });
document.addEventListener("scroll", page.hideTooltip, { passive: true });
// Paper cannot be clicked open.
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((details) => { details.open = true; });
});

document.querySelectorAll("button.copy").forEach((button) => {
  button.addEventListener("click", async () => {
    const done = await page.copy(button.parentElement.querySelector("code").textContent);
    button.textContent = done ? "copied" : "select and copy by hand";
    setTimeout(() => { button.textContent = "copy"; }, 1600);
  });
});
