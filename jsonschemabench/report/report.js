"use strict";
// Sorts every table of class "sortable" by the head that is clicked, and filters the failures.
// A row, or for failures the group of rows (`tbody`) of one case, moves as one piece.

function pieces(table) {
  return table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies[0].rows];
}

function keyOf(piece, column) {
  const cell = (piece.rows ? piece.rows[0] : piece).cells[column];
  if (!("key" in cell.dataset)) return cell.textContent;
  return cell.dataset.key === "" ? null : Number(cell.dataset.key);
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number"
    ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function sortBy(table, column, head) {
  // Figures start with the largest on top, texts with A; cells without a figure stay below.
  const figures = head.classList.contains("figure");
  const before = head.getAttribute("aria-sort");
  const order = before ? (before === "ascending" ? "descending" : "ascending")
    : figures ? "descending" : "ascending";
  const sign = order === "ascending" ? 1 : -1;
  const keyed = pieces(table).map((piece) => [keyOf(piece, column), piece]);
  const without = keyed.filter(([key]) => key === null);
  const sorted = keyed.filter(([key]) => key !== null).sort((a, b) => sign * compare(a[0], b[0]));
  for (const [, piece] of [...sorted, ...without]) piece.parentNode.append(piece);
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, column, head));
    head.append(button);
  });
}

for (const section of document.querySelectorAll(".cases")) {
  const [search, dataset, engine, outcome] = ["search", "dataset", "engine", "outcome"]
    .map((name) => section.querySelector(`[name=${name}]`));
  const bodies = [...section.querySelectorAll("tbody")];
  const said = section.querySelector("output");

  const fits = (cell) => outcome.value
    ? cell.dataset.outcome === outcome.value : "fails" in cell.dataset;

  const shows = (body) => {
    if (dataset.value && body.dataset.dataset !== dataset.value) return false;
    const cells = [...body.querySelectorAll("td[data-outcome]")];
    const asked = engine.value ? cells.filter((cell) => cell.dataset.engine === engine.value) : cells;
    if (!asked.some(fits)) return false;
    return body.textContent.toLowerCase().includes(search.value.trim().toLowerCase());
  };

  const filter = () => {
    let shown = 0;
    for (const body of bodies) {
      body.hidden = !shows(body);
      shown += body.hidden ? 0 : 1;
    }
    said.textContent = `${shown.toLocaleString("en")} of ${bodies.length.toLocaleString("en")} cases`;
  };

  let waiting;
  section.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  section.querySelector(".filters").hidden = false;
  filter();
}
