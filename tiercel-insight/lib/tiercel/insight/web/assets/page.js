// Polls the page while its switch is on, and replaces the old contents by the new ones.
(() => {
  const toggle = document.getElementById("live");
  let timer = null;
  const remembered = (value) => {
    try {
      if (value === undefined) return sessionStorage.getItem("tiercel-live") === "on";
      sessionStorage.setItem("tiercel-live", value);
    } catch { return false; } // storage is switched off
  };
  const keep = (id, fresh) => {
    const old = document.getElementById(id);
    const next = fresh.getElementById(id);
    if (old && next && old.innerHTML !== next.innerHTML) old.innerHTML = next.innerHTML;
  };
  const refresh = async () => {
    const main = document.getElementById("main");
    if (document.hidden || main.querySelector("form :focus")) return;
    const answer = await fetch(location.href, { headers: { "x-tiercel-part": "contents" } });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = [...main.querySelectorAll("details[open]")].map((one) => one.id);
    const focused = main.contains(document.activeElement) ? document.activeElement.id : "";
    keep("main", fresh);
    keep("status", fresh);
    keep("moment", fresh);
    open.forEach((id) => { const one = id && document.getElementById(id); if (one) one.open = true; });
    if (focused) document.getElementById(focused)?.focus();
  };
  const show = (on) => toggle.setAttribute("aria-pressed", String(on));
  const start = () => {
    show(true);
    const next = () => {
      timer = setTimeout(() => refresh().then(next, () => {
        stop();
        document.getElementById("status").textContent = "The page did not answer: live updates are off.";
      }), toggle.dataset.seconds * 1000);
    };
    next();
  };
  const stop = () => {
    clearTimeout(timer);
    timer = null;
    show(false);
  };
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    timer ? stop() : start();
    remembered(timer ? "on" : "off");
  });
  if (remembered()) start();
})();
