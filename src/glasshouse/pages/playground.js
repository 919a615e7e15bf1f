// The page of a server: streams one or two texts and shades their tokens by probability.
const form = document.getElementById("ask");
if (form) {
  const field = (name) => document.getElementById(name);
  const problem = field("problem"), texts = field("texts");
  const edges = JSON.parse(form.dataset.edges);
  let stopping = null;

  form.querySelectorAll("input[type=range]").forEach((slider) => {
    slider.addEventListener("input", () => { slider.nextElementSibling.textContent = slider.value; });
  });

  function percent(logprob) {
    const share = 100 * Math.exp(logprob);
    return share >= 10 ? share.toFixed(0) + " %" : share >= 0.1 ? share.toFixed(1) + " %" : "< 0.1 %";
  }

  function describe(text, logprob, top) {
    const parts = [page.element("p", "tooltip-title token-text", JSON.stringify(text)), page.element("p", "", "probability " + percent(logprob))];
    const table = page.element("table", "alternatives");
    Object.entries(top).sort((a, b) => b[1] - a[1]).forEach(([other, value], index) => {
      const row = page.element("tr", other === text ? "chosen" : "");
      const bar = page.element("span", "bar"), cell = page.element("td", "");
      bar.style.width = Math.max(1, Math.exp(value) * 64) + "px";
      cell.append(bar);
      row.append(page.element("td", "rank", index + 1), page.element("td", "token-text", JSON.stringify(other)), cell);
      row.append(page.element("td", "figure", percent(value)));
      table.append(row);
    });
    return [...parts, table];
  }

  function addToken(target, text, logprob, top) {
    const token = page.element("span", "token", text);
    token.style.background = `var(--shade-${edges.filter((edge) => Math.exp(logprob) >= edge).length})`;
    token.tabIndex = -1;
    token.setAttribute("role", "button");
    token.setAttribute("aria-label", `${text}: probability ${percent(logprob)}`);
    const show = () => page.showTooltip(describe(text, logprob, top), token.getClientRects()[0] || token.getBoundingClientRect());
    token.addEventListener("pointerenter", show);
    token.addEventListener("focus", () => requestAnimationFrame(show));
    token.addEventListener("pointerleave", page.hideTooltip);
    token.addEventListener("blur", page.hideTooltip);
    target.append(token);
  }

  // Server-sent events: lines "data: {...}", with an empty line after each.
  async function* events(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const data = block.replace(/^data: /, "");
        if (data !== "[DONE]") yield JSON.parse(data);
      }
    }
  }

  async function write(model, prompt, signal) {
    const box = page.element("article", "written"), text = page.element("div", "text"), remark = page.element("p", "remark", "waiting");
    box.append(page.element("h2", "", model), text, remark);
    text.append(page.element("span", "prompt", prompt));
    texts.append(box);
    const seed = field("seed").value;
    const began = performance.now();
    let first = 0, count = 0, finish = "stopped";
    const response = await fetch("v1/completions", {
      method: "POST",
      signal,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        model, prompt, stream: true, logprobs: 5, max_tokens: Number(field("tokens").value),
        temperature: Number(field("temperature").value), top_p: Number(field("top-p").value),
        ...(seed === "" ? {} : { seed: Number(seed) }),
      }),
    });
    if (!response.ok) {
      remark.textContent = "refused";
      throw new Error((await response.json()).error.message);
    }
    try {
      for await (const event of events(response)) {
        if (event.error) throw new Error(event.error.message);
        const choice = event.choices[0];
        if (!first) first = performance.now() - began;
        finish = choice.finish_reason || finish;
        // Held-back bytes of a character belong to one piece of text, so a piece is shown as its tokens only where they agree.
        const pieces = choice.logprobs.tokens;
        const agree = pieces.join("") === choice.text;
        if (!pieces.length && choice.text) text.append(page.element("span", "", choice.text));
        pieces.forEach((piece, index) => addToken(text, agree ? piece : index ? "" : choice.text, choice.logprobs.token_logprobs[index], choice.logprobs.top_logprobs[index]));
        count += pieces.length;
        remark.textContent = `${count} tokens`;
      }
    } finally {
      const seconds = (performance.now() - began) / 1000;
      remark.textContent = `${count} tokens in ${seconds.toFixed(1)} s, the first after ${(first / 1000).toFixed(2)} s; ended by: ${finish}`;
      page.moveByArrowKeys([...text.querySelectorAll(".token")], 10);
    }
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    texts.replaceChildren();
    problem.textContent = "";
    stopping = new AbortController();
    field("write").disabled = true;
    field("stop").disabled = false;
    const models = [field("first").value, field("second").value].filter(Boolean);
    const outcomes = await Promise.allSettled(models.map((model) => write(model, field("prompt").value, stopping.signal)));
    const failed = outcomes.find((outcome) => outcome.status === "rejected" && outcome.reason.name !== "AbortError");
    if (failed) problem.textContent = failed.reason.message;
    field("write").disabled = false;
    field("stop").disabled = true;
  });
  field("stop").addEventListener("click", () => stopping && stopping.abort());
  field("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}
