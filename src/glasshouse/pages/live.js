// The live view of a run: asks its server for what has changed, and sends what the buttons say.
(() => {
  const EVERY = 1000, view = document.getElementById("live"), key = view.dataset.key;
  const token = new URLSearchParams(location.search).get("token") || "";
  const pulse = document.getElementById("pulse"), answer = document.getElementById("answer");
  let version = "";

  const address = (path, more) => path + "?" + new URLSearchParams({ token, key, ...more });

  // A part that the reader points at, scrolls or has the focus in is replaced later.
  function replace(html) {
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    let complete = true;
    view.querySelectorAll("[data-part]").forEach((part) => {
      const found = fresh.content.querySelector(`[data-part="${part.dataset.part}"]`);
      if (!found || found.innerHTML === part.dataset.html) return;
      const used = part.contains(document.activeElement) || (part.dataset.part === "curves" && part.matches(":hover"));
      if (used && part.dataset.part !== "actions") { complete = false; return; }
      const focused = part.contains(document.activeElement) ? document.activeElement.dataset.action : "";
      part.dataset.html = found.innerHTML;
      part.replaceChildren(...found.childNodes);
      part.querySelectorAll("svg[data-chart]").forEach(enhanceChart);
      page.watchScrolling(part);
      if (focused) (part.querySelector(`[data-action="${focused}"]:enabled`) || part.querySelector("button:enabled"))?.focus();
    });
    return complete;
  }

  async function refresh() {
    try {
      const reply = await fetch(address("run/part", { version }));
      if (!reply.ok) throw new Error(reply.status === 403 ? "refuses this token" : reply.status === 404 ? "does not find this run" : "answers with an error");
      const found = await reply.json();
      pulse.textContent = "Live.";
      if (found.version !== version && replace(found.html)) version = found.version;
    } catch (error) {
      pulse.textContent = `The server ${error instanceof TypeError ? "does not answer" : error.message}; this page tries again.`;
    }
  }

  view.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-action]");
    if (!button || button.disabled || button.ariaDisabled) return;
    // A button that is disabled outright would lose the focus.
    button.ariaDisabled = "true";
    answer.textContent = "…";
    try {
      const reply = await fetch(address("run/" + button.dataset.action), { method: "POST" });
      answer.textContent = await reply.text();
    } catch {
      answer.textContent = "The server does not answer.";
      button.ariaDisabled = null;
    }
    // The server says which buttons are possible now, even if that is what it said before.
    button.closest("[data-part]")?.removeAttribute("data-html");
    version = "";
    refresh();
  });
  refresh();
  setInterval(refresh, EVERY);
})();
