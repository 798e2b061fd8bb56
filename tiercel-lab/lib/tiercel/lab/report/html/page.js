"use strict";
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const place = (event) => {
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 6)) + "px";
    const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
    tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10) + "px";
  };
  document.addEventListener("mousemove", (event) => {
    const marked = event.target.closest("[data-tip]");
    tip.hidden = !marked;
    if (marked) { tip.textContent = marked.dataset.tip; place(event); }
  });
  // The target of a link may be folded.
  const unfold = () => {
    const goal = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = goal && goal.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (goal && goal.closest("details")) goal.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  const copy = async (text) => {
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const label = button.textContent;
    try { await copy(button.dataset.copy); button.textContent = "copied"; } catch { button.textContent = "not allowed here"; }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
})();
