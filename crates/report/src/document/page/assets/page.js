/* Parts of every page: theme, copy buttons, charts. */
(() => {
  const { Chart, element } = lspSoak;
  const root = document.documentElement, wish = matchMedia("(prefers-color-scheme: dark)");
  const button = document.querySelector("button[data-theme]");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : wish.matches;
  const changed = () => { button.textContent = isDark() ? "Light" : "Dark"; document.dispatchEvent(new Event("themechange")); };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; changed(); });
  wish.addEventListener("change", changed);

  /* Print in light colours, with charts as wide as paper. What is folded on the screen is folded on paper. */
  const PAPER = "718px";
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    document.body.style.width = PAPER;
    changed();
  });
  addEventListener("afterprint", () => { document.body.style.width = ""; if (before) root.dataset.theme = before; else delete root.dataset.theme; changed(); });

  const text = (cell) => cell.innerText.replace(/\s+/g, " ").trim();
  const rows = (table) => [...table.rows].map((row) => [...row.cells].map(text));
  /* The rows without the marks beside figures, which are words for people. */
  const figures = (table) => {
    const marks = [...table.querySelectorAll(".mark")];
    marks.forEach((mark) => { mark.hidden = true; });
    const found = rows(table);
    marks.forEach((mark) => { mark.hidden = false; });
    return found;
  };
  const forms = {
    TSV: (table) => (table.tHead ? lspSoakTable.tsv(figures(table), table.caption.innerText) : rows(table).map((row) => row.join("\t")).join("\n")),
    Markdown: (table) => {
      const [head, ...others] = rows(table).map((row) => `| ${row.map((cell) => cell.replace(/[|\\]/g, "\\$&").replace(/</g, "&lt;")).join(" | ")} |`);
      const rule = `|${"---|".repeat(table.rows[0].cells.length)}`;
      return table.tHead ? [head, rule, ...others].join("\n") : [`|${" |".repeat(table.rows[0].cells.length)}`, rule, head, ...others].join("\n");
    },
  };
  /* Some browsers deny local files the clipboard API; the old command still works. */
  const copy = async (value) => {
    try { await navigator.clipboard.writeText(value); } catch {
      const area = element("textarea", { class: "unseen" });
      area.value = value;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const holder of document.querySelectorAll(".copyable")) {
    const table = holder.querySelector("table"), said = element("output", { "aria-live": "polite" });
    const offer = (name, value) => element("button", { type: "button", onclick: async () => {
      await copy(value());
      said.textContent = "Copied";
      setTimeout(() => { said.textContent = ""; }, 2000);
    } }, name);
    const offers = table ? Object.entries(forms).map(([name, form]) => offer(`Copy ${name}`, () => form(table))) : [offer("Copy", () => holder.querySelector("pre").innerText)];
    holder.prepend(element("div", { class: "tools" }, said, ...offers));
  }
  for (const chart of document.querySelectorAll(".chart")) new Chart(chart);
  changed();
  root.dataset.ready = String(Math.round(performance.now()));
})();
