// Functions that the other scripts share: the tooltip, moving through a group of items by arrow keys, copying.
"use strict";
document.documentElement.classList.add("with-script");

const page = {
  // Text is set as textContent, never as markup, because a token may contain anything.
  element(name, className, content) {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (content !== undefined) node.textContent = content;
    return node;
  },

  drawing(name, attributes, parent) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    parent.appendChild(node);
    return node;
  },

  tooltip: document.getElementById("tooltip"),

  // Shows the tooltip below a rectangle of the window, or above it if there is no space below.
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

  // The tab key stops once per group, and arrow keys move within it: a sample has hundreds of tokens.
  moveByArrowKeys(items, columns) {
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

  // Browsers may deny the clipboard API to local files; then the text is copied from a temporary text field.
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
// Printed pages show the content of collapsed sections.
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((details) => { details.open = true; });
});

// What is wider than its frame scrolls: it says on which sides there is more, and the keyboard reaches it.
const markScrolling = (box) => {
  const hidden = box.scrollWidth - box.clientWidth, left = box.scrollLeft > 2, right = box.scrollLeft < hidden - 2;
  if (hidden > 2) {
    box.dataset.more = left && right ? "both" : left ? "left" : "right";
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "scrolls sideways");
  } else {
    delete box.dataset.more;
    ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name));
  }
};
const frames = new ResizeObserver((entries) => entries.forEach(({ target }) => markScrolling(target)));
page.watchScrolling = (root) => root.querySelectorAll(".scroll, .copyable pre").forEach((box) => {
  frames.observe(box);
  box.addEventListener("scroll", () => markScrolling(box), { passive: true });
});
page.watchScrolling(document);

document.querySelectorAll("button.copy").forEach((button) => {
  button.addEventListener("click", async () => {
    const done = await page.copy(button.parentElement.querySelector("code").textContent);
    button.textContent = done ? "copied" : "cannot copy: select the text";
    setTimeout(() => { button.textContent = "copy"; }, 1600);
  });
});
